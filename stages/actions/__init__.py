"""What an agent does with its tools, or is ordered to do, and what failed.

May import: stages/text, stages/language, stages/shell.
"""
