"""Logs and metrics for the operators of the service."""
