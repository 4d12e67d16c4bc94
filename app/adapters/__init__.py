"""Adapters of the ports, one package for each outside world. They do not know each other."""
