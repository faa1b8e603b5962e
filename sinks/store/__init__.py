"""DuckDB, the truth: one writer, a cursor for each reader, migrations, the log.

May import nothing of sinks but sinks/files.py.
"""
