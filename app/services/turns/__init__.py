"""The order of work in a process: shares of tenants, turns of requests and of long work."""
