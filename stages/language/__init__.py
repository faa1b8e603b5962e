"""What words say: sentences, topics, search intent, pastes, kinds of work and of answers.

May import: stages/text.
"""
