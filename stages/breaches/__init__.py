"""What an action breaks of the rules that memories state.

May import: stages/text, stages/language, stages/shell, stages/actions, stages/rules,
stages/code_rules.
"""
