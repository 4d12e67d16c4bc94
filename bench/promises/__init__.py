"""Attacks and failures, measured on two checkouts side by side: what a promise was worth before, and now."""
