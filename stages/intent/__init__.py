"""What a prompt searches for: keyword votes and the language model's.

May import: stages/text, stages/language.
"""
