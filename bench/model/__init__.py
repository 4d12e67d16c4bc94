"""What a language model adds to ingest and recall: ``memory-gateway eval`` on a set of this project."""
