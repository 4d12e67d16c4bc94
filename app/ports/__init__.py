"""What the core needs from the outside, as small protocols. Each is proved by one contract suite."""
