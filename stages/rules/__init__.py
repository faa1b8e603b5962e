"""The rules of memories about commands, files and values.

May import: stages/text, stages/language, stages/shell, stages/actions.
"""
