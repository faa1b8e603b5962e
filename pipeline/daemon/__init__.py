"""The process: sockets, serving, idling, housekeeping, spool, logs.

May import: pipeline/app, pipeline/entrance, pipeline/api, pipeline/agents.
"""
