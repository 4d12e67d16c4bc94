"""The tools by which an agent uses its memory: their definition, manifests and calls."""
