"""The figures of ``subcog eval``, computed in process on labelled sets.

May import nothing of pipeline.
"""
