"""The rules that memories state, and which of them an action breaks.

May import: stages/text, stages/language, stages/shell, stages/actions.
"""
