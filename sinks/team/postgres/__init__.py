"""The team's memory on a PostgreSQL server. Imported only where a team is used."""
