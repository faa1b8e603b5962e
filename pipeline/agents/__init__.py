"""The agents that subcog serves: what each calls its moments, and where its settings are.

May import nothing of pipeline.
"""
