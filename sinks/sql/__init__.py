"""What SQL finds and shows of the store: the search tables, views and macros, people's questions.

May import: nothing of the room.
"""
