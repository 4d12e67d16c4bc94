"""Errors of this installation: a statement, a version or settings that cannot work."""

from app.domain.errors.root import MemoryGatewayError


class DatabaseRejected(MemoryGatewayError):
    """The database refused a statement that the service should not have sent."""

    code = "database_rejected"
    title = "Database rejected a statement"


class ConfigurationError(MemoryGatewayError):
    """Settings that cannot work; the message says which and why."""

    code = "configuration_error"
    title = "Configuration error"
