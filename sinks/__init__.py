"""The nouns: where events rest, or leave the process."""
