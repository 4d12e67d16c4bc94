"""Statements that cross tenants. Requests cannot import them."""
