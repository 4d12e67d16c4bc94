"""Requests that are made to cost as much as they can, on every route that takes a text, a number or a shape."""
