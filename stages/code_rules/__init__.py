"""The rules of memories about names in code: what is not to be used, and what needs something else.

May import: stages/text, stages/language, stages/actions, stages/rules.
"""
