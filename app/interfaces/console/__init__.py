"""Draws pictures of the domain's objects for people. This package knows the domain alone, and no route."""
