"""Jobs that cross tenants: erase, reconcile, re-embed, prune and backfill."""
