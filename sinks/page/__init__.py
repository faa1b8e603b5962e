"""The page that a person opens in a browser: its screens, what they do, who may come in.

May import nothing of sinks.
"""
