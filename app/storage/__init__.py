"""Every SQL statement of the application."""
