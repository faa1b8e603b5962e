"""What the agent runs: standard library only."""
