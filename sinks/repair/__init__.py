"""A damaged or grown database: salvage, purge, kept copies.

May import: sinks/team, sinks/sql, sinks/store, sinks/passages.
"""
