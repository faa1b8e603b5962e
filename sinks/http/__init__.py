"""The HTTP port on loopback: metrics, health, hooks, credentials.

May import: sinks/files.
"""
