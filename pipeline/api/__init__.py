"""What the daemon answers to the command line and to MCP clients.

May import: pipeline/app, pipeline/entrance, pipeline/imports.
"""
