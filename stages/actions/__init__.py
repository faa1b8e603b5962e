"""What an agent does with its tools, and which memories speak of just that.

May import: stages/text, stages/language.
"""
