"""Files of ours and of others: rotation, stamps, reading what nobody vouches for.

May import nothing of sinks.
"""
