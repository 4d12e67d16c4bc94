"""Finds memories: the channels of a recall, and how their candidates become entries."""
