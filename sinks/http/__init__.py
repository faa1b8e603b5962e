"""The HTTP port on loopback: metrics, health, hooks, credentials.

May import nothing of sinks but sinks/files.py.
"""
