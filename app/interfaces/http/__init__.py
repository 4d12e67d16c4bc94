"""The HTTP surface: routes, the shapes they take and give, and how errors look."""
