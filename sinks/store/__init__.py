"""DuckDB, the truth: one writer, a cursor for each reader, migrations, the log.

May import: sinks/sql.
"""
