"""What is counted and logged: metrics, prompt log, audit log, degradations.

May import: sinks/files.
"""
