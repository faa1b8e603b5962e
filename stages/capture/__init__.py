"""From what was said to what is worth keeping: markers, statements, task records.

May import: stages/text, stages/language, stages/statements.
"""
