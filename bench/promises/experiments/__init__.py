"""One module for each subject, with ``measure(checkout)``; ``bench.promises`` runs all that lie here."""
