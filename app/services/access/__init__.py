"""Access: credentials, and their revocations."""
