"""What other hooks than a prompt answer: a start, an action before and after, a compaction.

May import: stages/text, stages/language, stages/statements, stages/injection, stages/actions,
stages/rules, stages/breaches.
"""
