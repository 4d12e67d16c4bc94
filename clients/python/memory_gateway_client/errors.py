"""The exceptions that a call can raise: one class for each way to act on a failure; ``code`` says which failure it is.

::

    MemoryGatewayError                 the service failed inside; the base of all
    |-- InvalidRequest                   400, 413, 422 and any other 4xx: the same request fails again
    |-- Unauthenticated                  401: no credential, or an invalid one
    |-- Forbidden                        403: the credential does not allow this
    |-- NotFound                         404: the memory, operation or path does not exist
    |-- Conflict                         409: erasing, long_term_disabled, idempotency_key_reused, run_ended
    |-- PreconditionFailed               412: what is to be changed is not as the caller has asked
    |-- QuotaExceeded                    429: quota_exceeded or rate_limited
    |-- Unavailable                      502, 503, 504, or no answer at all
    |-- AnswerNotUnderstood              the answer cannot be read as one of the service

The HTTP status of an answer decides its class (``memory_gateway_client.answers``), so a code that this version of the
client does not know is raised as the class of its status too.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field of a request and what is wrong with it; ``field`` is a dotted path such as ``filter.metadata``."""

    field: str
    message: str


class MemoryGatewayError(Exception):
    """Base of all errors. It is raised itself where the service failed inside (500).

    Codes: ``internal_error``, ``database_rejected``.

    Attributes:
        detail: What went wrong, for people; never a credential.
        code: What went wrong, for programs; stable.
        status: The HTTP status; without an answer, the one that says the same.
        request_id: Identifies the request in the service's log; empty where there was no answer.
        errors: The fields of the request that are wrong.
        advice: What can be done about it; empty where the service does not say.
        retry_after: Seconds after which the service asks to be called again; None where it does not say.
    """

    code: str = "internal_error"
    status: int = 500

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        status: int | None = None,
        request_id: str = "",
        errors: Sequence[FieldError] = (),
        advice: str = "",
        retry_after: int | None = None,
    ) -> None:
        """Keep what was answered; ``code`` and ``status`` are those of the class where they are not given."""
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code
        self.status = status or type(self).status
        self.request_id = request_id
        self.errors = tuple(errors)
        self.advice = advice
        self.retry_after = retry_after
        for label, told in (("advice", advice), ("request id", request_id)):
            if told:
                self.add_note(f"{label}: {told}")


class InvalidRequest(MemoryGatewayError):
    """The request is wrong, and fails again unchanged; ``errors`` names the fields.

    Codes: ``invalid_request``, ``malformed_request``, ``content_too_large``, ``unsupported_media_type``,
    ``invalid_cursor``, ``method_not_allowed``.
    """

    code = "invalid_request"
    status = 422


class Unauthenticated(MemoryGatewayError):
    """The credential is missing, expired, unsigned, wrongly signed or incomplete."""

    code = "unauthenticated"
    status = 401


class Forbidden(MemoryGatewayError):
    """The credential is valid, but lacks the scope or is for another agent."""

    code = "forbidden"
    status = 403


class NotFound(MemoryGatewayError):
    """What the request names does not exist, or not for this caller: both look the same.

    Codes: ``not_found``, and ``no_such_path`` where the service has no such route, as with a wrong base URL.
    """

    code = "not_found"
    status = 404


class Conflict(MemoryGatewayError):
    """The present state forbids the request; nothing was changed.

    Codes: ``erasing`` (the agent or its tenant is being erased), ``long_term_disabled`` (an administrator has switched
    off the agent's long-term memory), ``idempotency_key_reused`` (for another request in the last 24 hours),
    ``run_ended`` (the run has ended, or has ended otherwise).
    """

    code = "conflict"
    status = 409


class PreconditionFailed(MemoryGatewayError):
    """What is to be changed is not as ``if_match`` or ``if_none_match`` asks; nothing was changed.

    Code: ``precondition_failed``.
    """

    code = "precondition_failed"
    status = 412


class QuotaExceeded(MemoryGatewayError):
    """A limit is reached; ``retry_after`` is set where waiting helps.

    Codes: ``quota_exceeded`` (a limit of the tenant or the agent; nothing was stored), ``rate_limited`` (too many calls
    of the client, or of the service itself to something it depends on).
    """

    code = "quota_exceeded"
    status = 429


class Unavailable(MemoryGatewayError):
    """The service, or something it depends on, does not answer now; the same request may succeed later.

    A write may have been done, unless the code is ``service_unreachable``. Codes without an answer of the service:
    ``service_unreachable`` (no connection; nothing was sent), ``answer_lost`` (the connection broke), and
    ``answer_timeout``. Any other code is the service's own, such as ``database_unavailable``, ``storage_full``,
    ``embedding_unavailable`` or ``upstream_timeout``.
    """

    code = "unavailable"
    status = 503


class AnswerNotUnderstood(MemoryGatewayError):
    """The answer is not the service's, or not one that this client can read. It is never taken for no memories."""

    code = "answer_not_understood"
    status = 502
