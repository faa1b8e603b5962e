"""What was said in sessions: kept word for word, indexed by episodes, found for a prompt.

May import: sinks/search, sinks/models, sinks/store.
"""
