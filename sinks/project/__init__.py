"""What a project is and what lies in it: identity, git, manifests, context files.

May import nothing of sinks but sinks/files.py and sinks/disk.py.
"""
