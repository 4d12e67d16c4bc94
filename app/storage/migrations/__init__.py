"""The database's schema as numbered SQL files, and what applies them."""
