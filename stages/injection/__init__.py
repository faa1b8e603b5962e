"""Which candidates are shown, and how they fit into the budget.

May import: stages/text, stages/language, stages/statements.
"""
