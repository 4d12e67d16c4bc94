"""Errors of a request that is understood and refused: for what it names, the state, a limit, or its caller."""

from collections.abc import Sequence

from app.domain.errors.root import FieldError, MemoryGatewayError


class NotFound(MemoryGatewayError):
    """What the request names does not exist, or not for this caller: both look the same."""

    code = "not_found"
    status = 404
    title = "Not found"


class BlobGone(NotFound):
    """A pointer names an object that the object store does not have any more: what it held is lost."""

    code = "blob_gone"
    status = 410
    title = "Blob gone"


class ObjectGone(NotFound):
    """An object of a snapshot or of the archive is missing or has changed; the detail names it."""

    code = "object_gone"
    status = 410
    title = "Object gone"


class Conflict(MemoryGatewayError):
    """The state of things forbids what is asked."""

    code = "conflict"
    status = 409
    title = "Conflict"


class Erasing(Conflict):
    """The agent, or its tenant, is being erased: nothing is stored until the receipt is written."""

    code = "erasing"
    title = "Being erased"


class LongTermDisabled(Conflict):
    """An administrator has switched off the agent's long-term memory: it may neither store nor recall."""

    code = "long_term_disabled"
    title = "Long-term memory disabled"

    def __init__(self) -> None:
        """Say that an administrator has switched off the agent's long-term memory."""
        super().__init__("An administrator has switched off this agent's long-term memory.")


class IdempotencyKeyReused(Conflict):
    """The Idempotency-Key was used for another request in the last 24 hours."""

    code = "idempotency_key_reused"
    title = "Idempotency-Key reused"


class Superseded(Conflict):
    """Another memory says what holds now in place of this one, so that there is nothing to forget."""

    code = "superseded"
    title = "Superseded"

    def __init__(self, holder: str) -> None:
        """Name the memory that holds."""
        super().__init__(
            f"The memory is superseded, and no recall returns it as what holds: {holder} says what holds now.",
            errors=[FieldError("memory_id", f"is superseded by {holder}")],
        )
        self.holder = holder


class NamespaceExists(Conflict):
    """The tenant has a namespace of this name; nothing was changed."""

    code = "namespace_exists"
    title = "Namespace exists"


class OperationRunning(Conflict):
    """The operation is not finished, so that nothing of it can be tried again; nothing was changed."""

    code = "operation_running"
    title = "Operation running"


class RunEnded(Conflict):
    """The run has ended already, and in another way than is asked for now; nothing was changed."""

    code = "run_ended"
    title = "Run ended"


class PreconditionFailed(Conflict):
    """The value is another one than ``If-Match`` or ``If-None-Match`` names (RFC 9110); nothing was changed."""

    code = "precondition_failed"
    status = 412
    title = "Precondition failed"


class QuotaExceeded(MemoryGatewayError):
    """A limit of the tenant or of the agent is reached; nothing was stored, or recalled."""

    code = "quota_exceeded"
    status = 429
    title = "Quota exceeded"

    def __init__(self, detail: str, *, reached: str, retry_after: int | None = None) -> None:
        """Name the limits as a header does, and say after how many seconds to try again, where waiting helps."""
        super().__init__(detail)
        self.reached = reached
        self.retry_after = retry_after


class AccessRefused(MemoryGatewayError):
    """The caller is not let in, or not this far."""


class Unauthenticated(AccessRefused):
    """No credential, or one that is expired, unsigned, wrongly signed or incomplete."""

    code = "unauthenticated"
    status = 401
    title = "Unauthenticated"


class Forbidden(AccessRefused):
    """A valid credential without the scope, or for another agent."""

    code = "forbidden"
    status = 403
    title = "Forbidden"

    def __init__(self, detail: str, *, errors: Sequence[FieldError] = (), scope: str | None = None) -> None:
        """Take the detail, the fields, and the scope that a credential would have to have, where it is the scope."""
        super().__init__(detail, errors=errors)
        self.scope = scope
