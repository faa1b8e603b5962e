"""Learning from use, replayed: simulated users with and without the rule, and recorded events."""
