"""The HTTP interface: routes, schemas of requests and answers, and problem+json."""
