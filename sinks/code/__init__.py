"""The code that memories name: read with a parser, found in the project, compared later.

Nothing is run, and nothing outside the project is read.
"""
