"""From an agent's hook payload to an event and back.

May import: pipeline/app, pipeline/agents.
"""
