"""D1: SQLite databases behind REST, with D1's limits and D1's words."""
