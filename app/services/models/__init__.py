"""Models as one tenant's services see them: within its shares, its limits and a deadline."""
