"""What was said in a session: read from its transcript, and quoted in a later one.

May import: stages/text, stages/language, stages/statements.
"""
