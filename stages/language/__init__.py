"""What words say: sentences, topics, search intent, comparison, kinds of work and of answers.

May import: stages/text.
"""
