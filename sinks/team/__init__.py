"""Sharing with colleagues: outbox, push, pull, conflicts and their resolution.

May import: sinks/store, sinks/search, sinks/models.
"""
