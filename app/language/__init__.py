"""Reads text alone, without memories or sources: its words, sentences, numbers and expressions of time."""
