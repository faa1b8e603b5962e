"""How well what is said before an action, and with an order, fits it: labelled acts and orders.

``memories.jsonl`` has {id, text, namespace?, tags?, created_at?} a line, ``orders.jsonl``
{id, prompt, relevant: [ids], acceptable?: [ids]}, ``acts.jsonl`` {id, tool_name, tool_input,
relevant: [ids], acceptable?: [ids]}: tool calls as Claude Code sends them. Each order and each act
is a session of its own over all the memories, and goes through the product's own stages.
"""
