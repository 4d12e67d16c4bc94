"""Vectorize v2: vector indexes whose writes show late, and whose filters see only what was indexed in time."""
