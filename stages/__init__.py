"""The pipeline's verbs, one a file, and the pure helpers they use."""
