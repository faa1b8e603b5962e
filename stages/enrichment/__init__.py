"""What memory has on the work at hand: tasks, patterns, gotchas, references, conflicts.

May import: stages/text, stages/language, stages/statements.
"""
