"""What the real service would say with a status that a fault asks for."""

from memory_gateway_double.faults import Fault
from memory_gateway_double.models.embeddings_endpoint import openai_error
from memory_gateway_double.models.rerank_endpoint import OPERATION as RERANK
from memory_gateway_double.models.rerank_endpoint import rerank_error
from memory_gateway_double.r2 import OPERATION as R2
from memory_gateway_double.r2 import s3_error
from memory_gateway_double.rate_limit import BLOCKED, WINDOW_SECONDS
from memory_gateway_double.v4 import AUTHENTICATION_ERROR, TOO_MANY_REQUESTS, failure
from memory_gateway_double.wire import JSON, Reply

_PLAIN_STATUSES = frozenset({502, 504, *range(520, 531)})
"""Answered by Cloudflare's edge without an envelope."""

_OPENAI = {
    401: ("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    403: ("Country, region, or territory not supported", "request_forbidden", "unsupported_country_region_territory"),
    404: ("The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found"),
    429: ("Rate limit reached for requests", "requests", "rate_limit_exceeded"),
    500: ("The server had an error while processing your request. Sorry about that!", "server_error", None),
    503: ("The engine is currently overloaded, please try again later", "service_unavailable", "overloaded"),
}
_RERANK = {
    401: "invalid api token",
    402: "your balance is used up",
    429: "you are past the rate limit, please wait and try again later",
    500: "internal server error",
}
_R2 = {
    400: ("InvalidRequest", "The request is not valid."),
    403: ("AccessDenied", "Access Denied"),
    404: ("NoSuchKey", "The specified key does not exist."),
    429: ("SlowDown", "Reduce your concurrent request rate for the same object."),
    500: ("InternalError", "We encountered an internal error. Please try again."),
    503: ("ServiceUnavailable", "Please reduce your request rate."),
}
_V4 = {
    401: (AUTHENTICATION_ERROR, "Authentication error"),
    403: (AUTHENTICATION_ERROR, "Authentication error"),
    404: (7003, "Could not route to the request, perhaps your object identifier is invalid?"),
    429: (TOO_MANY_REQUESTS, BLOCKED),
    500: (10001, "Internal server error"),
    503: (10001, "Service unavailable"),
}
_D1 = {
    400: (7500, 'near "selec": syntax error at offset 0: SQLITE_ERROR'),
    404: (7404, "The database could not be found"),
    500: (7500, "internal error; reference = e_double"),
    503: (7500, "D1 DB is overloaded. Requests queued for too long."),
}
_VECTORIZE = {404: (3000, "vectorize.index.not_found - Index name")}
_AI = {
    400: (5006, "AiError: Bad input: Error: required properties at '/' are 'text'"),
    408: (3007, "AiError: Request timeout"),
    413: (3006, "AiError: Request is too large"),
    429: (3040, "AiError: Capacity temporarily exceeded, please try again."),
}


def fault_reply(operation: str, fault: Fault) -> Reply:
    """Answer with the fault's own body, or with what the operation's service would say."""
    status = fault.status or 500
    if fault.content is not None:
        return Reply(status, fault.content, JSON, fault.headers or {})
    if operation.startswith("openai.") or operation in {"ai.embeddings", "ai.chat"}:
        message, kind, code = _OPENAI.get(status, (f"The request failed ({status}).", "invalid_request_error", None))
        reply = openai_error(status, message, kind=kind, code=code).reply
    elif operation == RERANK:
        reply = rerank_error(status, _RERANK.get(status, f"The request failed ({status}).")).reply
    elif operation.startswith(R2):
        reply = s3_error(status, *_R2.get(status, ("InternalError", f"The request failed ({status})."))).reply
    elif status in _PLAIN_STATUSES:
        reply = Reply(status, f"error code: {status}".encode(), "text/plain; charset=UTF-8")
    else:
        reply = failure(status, _meaning(operation, status))
        if status == 429 and operation not in {"ai.run", "ai.rerank"}:  # noqa: PLR2004 - the status of a block
            reply = Reply(status, reply.body, JSON, {"retry-after": f"{WINDOW_SECONDS:.0f}"})
    return Reply(status, reply.body, reply.content_type, {**reply.headers, **(fault.headers or {})})


def _meaning(operation: str, status: int) -> tuple[int, str]:
    own = {"d1": _D1, "vectorize": _VECTORIZE, "ai": _AI}.get(operation.partition(".")[0], {})
    return own.get(status) or _V4.get(status) or (10001, f"The request failed ({status})")
