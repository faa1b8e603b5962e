"""What is loaded and computes: embedding, cross-encoder, intent classifier, analyzer.

May import nothing of sinks.
"""
