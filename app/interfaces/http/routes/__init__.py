"""The routes of the HTTP interface, one module for each service that they call."""
