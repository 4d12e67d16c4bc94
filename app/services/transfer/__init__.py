"""Export and import of a tenant's data: our own format, and formats of other memory systems."""
