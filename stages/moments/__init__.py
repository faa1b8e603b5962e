"""What other hooks than a prompt answer: greeting, changed file, failed tool, compaction.

May import: stages/text, stages/language, stages/injection.
"""
