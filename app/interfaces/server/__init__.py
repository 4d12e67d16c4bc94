"""Serves the application on a socket: limits of requests and connections, and several processes."""
