"""The expressions of time in a text, and the days that they mean."""
