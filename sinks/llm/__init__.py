"""The language model in its worker process, behind a circuit breaker.

May import nothing of sinks.
"""
