"""Where the parts are connected: routes, stages, late loading.

May import nothing of pipeline.
"""
