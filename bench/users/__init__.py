"""What users have, and what it costs them: the tables of ``bench/results/table.md``."""
