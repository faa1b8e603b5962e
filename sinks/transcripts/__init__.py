"""Readers of what the agents write down of their sessions.

May import nothing of sinks but sinks/files.py.
"""
