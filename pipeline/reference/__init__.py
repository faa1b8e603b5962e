"""The pages in docs/reference, made from the code.

May import: pipeline/app, pipeline/cli.
"""
