"""The bus: event types, delivery and signals. Imports nothing of ours."""
