"""Makes all of a service's resources in an account by one command, and takes them back (ADR 0083)."""
