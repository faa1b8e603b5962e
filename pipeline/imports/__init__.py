"""Readers of what is imported, a file a format."""
