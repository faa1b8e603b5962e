"""What words say: sentences, topics, entities, references, kinds of work and of answers.

May import: stages/text.
"""
