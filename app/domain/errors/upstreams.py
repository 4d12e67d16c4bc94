"""Errors of what this service calls."""

from app.domain.errors.unavailable import Unavailable


class RateLimited(Unavailable):
    """Too many calls: ours are counted before Cloudflare blocks, and a block is waited out."""

    code = "rate_limited"
    status = 429
    title = "Rate limited"

    def __init__(self, detail: str, *, retry_after: int) -> None:
        """Say after how many seconds a call may succeed."""
        super().__init__(detail)
        self.retry_after = retry_after


class CloudflareBlocks(RateLimited):
    """Cloudflare has blocked all calls of the token's owner, for what others have called too; it is waited out."""

    code = "cloudflare_blocks"
    status = 503
    title = "Cloudflare blocks"


class UpstreamUnavailable(Unavailable):
    """A service that this one calls cannot be reached, or failed inside."""

    code = "upstream_unavailable"
    title = "Upstream unavailable"


class CircuitOpen(UpstreamUnavailable):
    """A service did not answer for a while, so no call was made. ``retry_after``: seconds until one is made again."""

    code = "circuit_open"
    title = "Circuit open"

    def __init__(self, detail: str, *, retry_after: int) -> None:
        """Say after how many seconds a call may be made."""
        super().__init__(detail)
        self.retry_after = retry_after


class UpstreamOverloaded(Unavailable):
    """A service that this one calls has too much to do."""

    code = "upstream_overloaded"
    title = "Upstream overloaded"
    retry_after = 5


class UpstreamTimeout(Unavailable):
    """A service that this one calls did not answer in time. A write may have been done: doing it again is safe."""

    code = "upstream_timeout"
    status = 504
    title = "Upstream timed out"


class QuotaExhausted(Unavailable):
    """A quota or credit with an upstream is used up. It does not cure itself soon: an operator has to act."""

    code = "quota_exhausted"
    title = "Upstream quota exhausted"
    retry_after = None


class CredentialsRefused(Unavailable):
    """An upstream refused this service's credentials. It does not cure itself: an operator has to act."""

    code = "upstream_credentials_refused"
    status = 502
    title = "Upstream refused our credentials"
    retry_after = None


class UpstreamRejected(Unavailable):
    """An upstream refused a call that it should have taken, or its answer cannot be understood."""

    code = "upstream_rejected"
    status = 502
    title = "Upstream rejected a call"
    retry_after = None


class VectorRefused(UpstreamRejected):
    """The index refuses a vector for what it is: sending it again unchanged is of no use."""

    code = "vector_refused"
    title = "Vector refused"


class ModelAnswerRejected(UpstreamRejected):
    """A language model's answer, and a second one, have no form that can be read."""

    code = "model_answer_rejected"
    title = "Model answer rejected"


class CursorExpired(UpstreamRejected):
    """The index no longer knows the cursor of a listing."""

    code = "cursor_expired"
    title = "Cursor expired"
