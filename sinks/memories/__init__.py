"""A memory's life across store and indexes: capture, change, import, contradiction.

May import: sinks/indexes, sinks/search, sinks/models, sinks/store.
"""
