"""Characters, tokens, markup and the envelope: what a text is before it means anything.

May import: bus.
"""
