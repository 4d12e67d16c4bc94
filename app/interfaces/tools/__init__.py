"""The tools by which an agent uses its memory: their one definition, its manifests, and their calls."""
