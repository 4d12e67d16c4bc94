"""Between the database and the vector index: what is queued, delivered and confirmed."""
