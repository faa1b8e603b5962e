"""The warm index and the ranking of its hits, and the probability that a hit is relevant.

May import: sinks/models, sinks/sql, sinks/store.
"""
