"""Who may go when: shares of tenants, turns of requests and of long work."""
