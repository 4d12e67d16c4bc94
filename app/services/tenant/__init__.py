"""What the services of one tenant work with."""
