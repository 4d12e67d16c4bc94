"""The errors with which working memory refuses a write."""

from app.domain import limits
from app.domain.errors import ContentTooLarge, NotFound, PreconditionFailed, QuotaExceeded
from app.services.tenant.writing import NO_RUN, Refusals


def too_many_instances(_: str) -> QuotaExceeded:
    """Return the refusal of another instance where the tenant has as many instances as it may."""
    most = limits.MAX_WORKING_INSTANCES
    return QuotaExceeded(
        f"The tenant has {most} instances that hold working memory, as many as it may. Nothing was changed.",
        reached=f"working_instances;scope=tenant;used={most};limit={most}",
    )


def _too_many_keys(_: str) -> QuotaExceeded:
    most = limits.MAX_WORKING_KEYS
    return QuotaExceeded(
        f"The instance has {most} keys, as many as it may. Nothing was changed.",
        reached=f"working_keys;scope=instance;used={most};limit={most}",
    )


def _over_log(_: str) -> ContentTooLarge:
    message = f"do not fit: a run's log holds at most {limits.LOG_BYTES} bytes"
    return ContentTooLarge.of_field("entries", message, "Nothing was appended.")


def not_as_asked() -> PreconditionFailed:
    """Return the refusal of a write whose precondition does not hold."""
    return PreconditionFailed("The key is not as If-Match or If-None-Match asks. Nothing was changed.")


REFUSALS: Refusals = {
    "no_run": lambda _: NotFound(NO_RUN),
    "precondition_failed": lambda _: not_as_asked(),
    "too_many_instances": too_many_instances,
    "too_many_keys": _too_many_keys,
    "over_log": _over_log,
}
"""The errors by the schema's reasons for a refusal (``schema.sql``)."""
