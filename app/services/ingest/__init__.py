"""Makes memories of the messages of a conversation, stage by stage (docs/constrained-api.md)."""
