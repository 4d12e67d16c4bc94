"""Golden questions: asked of recalls, and kept for a tenant."""
