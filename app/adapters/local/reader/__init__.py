"""Reads statements with a small model on this machine's CPU (ADR 0054)."""
