"""Credentials: the register of a tenant's."""
