"""Everything that a call can raise, as one tree: the service's own, and what keeps its answer from the caller.

::

    MemoryGatewayError
    |-- InvalidRequest                 the caller's mistake, never retried unchanged
    |   |-- MalformedRequest             the body is not JSON
    |   |-- UnsupportedMediaType         the body is not sent as application/json
    |   |-- ContentTooLarge              a body or a text over its limit
    |   |-- InvalidCursor                a listing cannot go on from this cursor
    |-- NotFound                       what is named does not exist, or not for this caller
    |-- Conflict                       the state of things forbids it
    |   |-- Erasing                      the agent, or its tenant, is being erased
    |   |-- LongTermDisabled             the agent's long-term memory is switched off
    |   |-- IdempotencyKeyReused         the key was used for another request
    |-- QuotaExceeded                  the tenant or the agent may hold, or store in this minute, no more
    |-- AccessRefused                  who is calling
    |   |-- Unauthenticated              no credential, or one that does not hold
    |   |-- Forbidden                    a credential that does not reach this far
    |-- Unavailable                    a part that is needed does not answer; try again later
    |   |-- ServiceUnreachable           here: no connection to the service; nothing was sent
    |   |-- AnswerLost                   here: the connection broke before the answer was whole
    |   |-- AnswerTimeout                here: the service did not answer in time
    |   |-- DatabaseUnavailable          the database cannot be read or written
    |   |   |-- StorageFull                no room to write
    |   |   |-- StorageReadOnly            the data may be read, not written
    |   |-- EmbeddingUnavailable         the embedder does not answer
    |   |-- EmbeddingConfigMismatch      the stored vectors were made with another embedding config
    |   |-- IndexNotProvisioned          the index is absent or not made for the service
    |   |-- RateLimited                  too many calls
    |   |-- UpstreamUnavailable          an upstream of the service cannot be reached, or failed inside
    |   |-- UpstreamOverloaded           an upstream has too much to do; asking again at once makes it worse
    |   |-- UpstreamTimeout              an upstream did not answer in time
    |   |-- QuotaExhausted               a quota or credit is used up: an operator has to act
    |   |-- CredentialsRefused           an upstream refused the service's credentials: an operator has to act
    |   |-- UpstreamRejected             an upstream refused a call, or answered what cannot be understood
    |   |   |-- VectorRefused                the index does not take a vector as it is
    |   |   |-- CursorExpired                a listing has to begin anew
    |-- DatabaseRejected               the database refused a statement: a defect of the service
    |-- SchemaTooNew                   a newer version of the service has migrated the database
    |-- AnswerNotUnderstood            here: not an answer of this service, or not one that this client knows

What is marked ``here`` is found by this package; all else comes from the service, by its ``code``. A code that this
version does not know becomes what its status says (``memory_gateway_client.answers``).
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field of a request and what is wrong with it; ``field`` is a dotted path such as ``filter.metadata``."""

    field: str
    message: str


class MemoryGatewayError(Exception):
    """Base of the tree.

    Attributes:
        detail: What went wrong, for people; never a credential.
        code: What went wrong, for programs; stable.
        status: The HTTP status; of what is found here, the one that says the same.
        request_id: What finds the request in the service's log; empty where there was no answer.
        errors: The fields that are wrong.
        advice: What can be done about it; empty where the service does not say.
        retry_after: Seconds after which the service wants to be asked again; None where it does not say.
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
    """A request whose fields are wrong; ``errors`` names each."""

    code = "invalid_request"
    status = 422


class MalformedRequest(InvalidRequest):
    """A body that cannot be read as JSON."""

    code = "malformed_request"
    status = 400


class UnsupportedMediaType(InvalidRequest):
    """A body of another content type than application/json."""

    code = "unsupported_media_type"
    status = 415


class ContentTooLarge(InvalidRequest):
    """A body, or a text in it, over its limit in bytes."""

    code = "content_too_large"
    status = 413


class InvalidCursor(InvalidRequest):
    """A cursor that is forged, too old, or of another listing: which of them is not said."""

    code = "invalid_cursor"
    status = 400


class NotFound(MemoryGatewayError):
    """What the request names does not exist, or not for this caller: both look the same."""

    code = "not_found"
    status = 404


class Conflict(MemoryGatewayError):
    """The state of things forbids what is asked."""

    code = "conflict"
    status = 409


class Erasing(Conflict):
    """The agent, or its tenant, is being erased: nothing is stored until the receipt is written."""

    code = "erasing"


class LongTermDisabled(Conflict):
    """An administrator has switched off the agent's long-term memory: it may neither store nor recall."""

    code = "long_term_disabled"


class IdempotencyKeyReused(Conflict):
    """The Idempotency-Key was used for another request in the last 24 hours."""

    code = "idempotency_key_reused"


class QuotaExceeded(MemoryGatewayError):
    """A limit of the tenant or of the agent is reached; nothing was stored."""

    code = "quota_exceeded"
    status = 429


class AccessRefused(MemoryGatewayError):
    """The caller is not let in, or not this far."""


class Unauthenticated(AccessRefused):
    """No credential, or one that is expired, unsigned, wrongly signed or incomplete."""

    code = "unauthenticated"
    status = 401


class Forbidden(AccessRefused):
    """A valid credential without the scope, or for another agent."""

    code = "forbidden"
    status = 403


class Unavailable(MemoryGatewayError):
    """A part that is needed does not answer now; the same request may succeed later."""

    code = "unavailable"
    status = 503


class ServiceUnreachable(Unavailable):
    """No connection to the service could be made: nothing was sent."""

    code = "service_unreachable"


class AnswerLost(Unavailable):
    """The connection broke before the answer was whole. A write may have been done."""

    code = "answer_lost"
    status = 502


class AnswerTimeout(Unavailable):
    """The service did not answer in time. A write may have been done."""

    code = "answer_timeout"
    status = 504


class DatabaseUnavailable(Unavailable):
    """The database, or the index beside it, cannot be read or written."""

    code = "database_unavailable"


class StorageFull(DatabaseUnavailable):
    """There is no room to write: the disk, a quota or the database's own size limit."""

    code = "storage_full"


class StorageReadOnly(DatabaseUnavailable):
    """The data may be read, not written."""

    code = "storage_read_only"


class EmbeddingUnavailable(Unavailable):
    """The embedder failed, so nothing was written or searched."""

    code = "embedding_unavailable"


class EmbeddingConfigMismatch(Unavailable):
    """The stored vectors were made with another embedding config than the service has."""

    code = "embedding_config_mismatch"


class IndexNotProvisioned(Unavailable):
    """The index is not there, or was not made for the service."""

    code = "index_not_provisioned"


class RateLimited(Unavailable):
    """Too many calls, of this caller or of the service itself."""

    code = "rate_limited"
    status = 429


class UpstreamUnavailable(Unavailable):
    """An upstream of the service cannot be reached, or failed inside."""

    code = "upstream_unavailable"


class UpstreamOverloaded(Unavailable):
    """An upstream of the service has too much to do."""

    code = "upstream_overloaded"


class UpstreamTimeout(Unavailable):
    """An upstream of the service did not answer in time. A write may have been done: doing it again is safe."""

    code = "upstream_timeout"
    status = 504


class QuotaExhausted(Unavailable):
    """A quota or credit with an upstream is used up. It does not cure itself soon: an operator has to act."""

    code = "quota_exhausted"


class CredentialsRefused(Unavailable):
    """An upstream refused the service's credentials. It does not cure itself: an operator has to act."""

    code = "upstream_credentials_refused"
    status = 502


class UpstreamRejected(Unavailable):
    """An upstream refused a call that it should have taken, or its answer cannot be understood."""

    code = "upstream_rejected"
    status = 502


class VectorRefused(UpstreamRejected):
    """The index refuses a vector for what it is: sending it again unchanged is of no use."""

    code = "vector_refused"


class CursorExpired(UpstreamRejected):
    """The index no longer knows the cursor of a listing."""

    code = "cursor_expired"


class DatabaseRejected(MemoryGatewayError):
    """The database refused a statement: a defect of the service."""

    code = "database_rejected"


class SchemaTooNew(MemoryGatewayError):
    """The database has migrations that the service does not know."""

    code = "schema_too_new"
    status = 503


class AnswerNotUnderstood(MemoryGatewayError):
    """What answered is not the service, or says what this client does not know. It is never taken for no memories."""

    code = "answer_not_understood"
    status = 502
