"""What is counted and logged: metrics, prompt log, audit log, degradations.

May import nothing of sinks but sinks/files.py.
"""
