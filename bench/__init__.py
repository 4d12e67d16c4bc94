"""What the service costs, measured against a bare FastAPI application: ``python -m bench``."""
