"""Shell commands without what only runs them: the one reader of wrappers, runners and scripts.

Rules about commands and records of failed ones both read commands through it.
"""
