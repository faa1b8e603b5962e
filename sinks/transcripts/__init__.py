"""Readers of what the agents write down of their sessions.

May import: sinks/files.
"""
