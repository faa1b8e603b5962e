"""The agents that subcog serves: what each calls its moments, and where each keeps its settings."""
