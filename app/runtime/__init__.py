"""Objects that live as long as the process: backends, readiness, background work and the doctor."""
