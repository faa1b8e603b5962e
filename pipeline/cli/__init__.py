"""The command line's frame: entry point, client of the daemon, views.

May import nothing of pipeline.
"""
