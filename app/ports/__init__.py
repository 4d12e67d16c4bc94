"""The outside services that the core needs, as small protocols. Each protocol is proved by one contract suite."""
