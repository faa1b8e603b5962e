"""What two statements say of the same: as much, otherwise, or something else.

May import: stages/text, stages/language.
"""
