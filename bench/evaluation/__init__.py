"""Measures what ingest and recall make of a labelled set, over several runs (docs/evaluation.md)."""
