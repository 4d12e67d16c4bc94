"""What a language model adds to ingest and recall: ``bench.evaluation`` on a set of this project."""
