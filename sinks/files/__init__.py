"""Files: private and atomic writing, rotation, reading untrusted ones with stamps.

May import nothing of sinks.
"""
