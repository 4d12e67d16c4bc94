"""What working memory refuses, and how it says so."""

from app.domain import limits
from app.domain.errors import ContentTooLarge, FieldError, NotFound, PreconditionFailed, QuotaExceeded
from app.ports.database import RunRefused

NO_RUN = "There is no such run."


def no_such_run() -> NotFound:
    """Return the refusal of a request that names a run which the agent does not have."""
    return NotFound(NO_RUN, errors=[FieldError("run_id", "names no such run")])


def too_many_instances() -> QuotaExceeded:
    """Return the refusal of another instance where the tenant has as many as it may."""
    most = limits.MAX_WORKING_INSTANCES
    return QuotaExceeded(
        f"The tenant has {most} instances that hold working memory, as many as it may. Nothing was changed.",
        reached=f"working_instances;scope=tenant;used={most};limit={most}",
    )


def refused(refusal: RunRefused, *, field: str) -> Exception:
    """Return what a refusal by the schema means (``schema.sql``); ``field`` has what was to be written."""
    match refusal.reason:
        case "no_run":
            return NotFound(NO_RUN)
        case "precondition_failed":
            return not_as_asked()
        case "too_many_instances":
            return too_many_instances()
        case "too_many_keys":
            most = limits.MAX_WORKING_KEYS
            return QuotaExceeded(
                f"The instance has {most} keys, as many as it may. Nothing was changed.",
                reached=f"working_keys;scope=instance;used={most};limit={most}",
            )
        case "over_log":
            message = f"do not fit: a run's log holds at most {limits.LOG_BYTES} bytes"
            return ContentTooLarge(f"{field} {message}. Nothing was appended.", errors=[FieldError(field, message)])
        case _:
            return refusal


def not_as_asked() -> PreconditionFailed:
    """Return the refusal of a write whose precondition does not hold."""
    return PreconditionFailed("The key is not as If-Match or If-None-Match asks. Nothing was changed.")
