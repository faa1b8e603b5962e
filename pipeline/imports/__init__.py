"""Readers of what is imported: JSON, Markdown, notes for agents, other systems' files."""
