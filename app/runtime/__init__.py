"""What lives as long as the process: the backends, readiness, background work and the operator's view."""
