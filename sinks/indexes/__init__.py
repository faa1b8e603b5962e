"""Other warm indexes: topics, files named by memories, guides for work.

May import: sinks/search, sinks/models.
"""
