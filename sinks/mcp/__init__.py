"""The MCP server: tools, resources, prompts, over stdio and HTTP.

May import nothing of sinks.
"""
