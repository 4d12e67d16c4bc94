"""Reads a query: its terms, the names in it and the periods it means."""
