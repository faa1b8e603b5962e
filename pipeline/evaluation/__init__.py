"""The figures of ``subcog eval``; may import pipeline/app and pipeline/entrance.

An ``evaluate`` raises ``OSError`` for a file that it cannot read, and ``ValueError`` with file and
line for a line that is not what it should be.
"""
