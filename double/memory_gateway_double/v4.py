"""Cloudflare's v4 envelope: ``{"success", "errors", "messages", "result"}``.

https://developers.cloudflare.com/fundamentals/api/how-to/make-api-calls/
"""

from collections.abc import Mapping
from typing import Any

from memory_gateway_double.wire import Refusal, Reply, Request, json_reply

TOO_MANY_REQUESTS = 971
"""The code that the wild reports beside the text of a block; not documented."""
AUTHENTICATION_ERROR = 10000
NOT_JSON = 40026


def ok(result: object, *, status: int = 200, info: Mapping[str, object] | None = None) -> Reply:
    """Answer with a result, and with ``result_info`` where the list has pages."""
    content = {"success": True, "errors": [], "messages": [], "result": result}
    if info is not None:
        content["result_info"] = info
    return json_reply(status, content)


def failure(
    status: int, *errors: tuple[int, str], headers: Mapping[str, str] | None = None, result: object = None
) -> Reply:
    """Answer with errors, each a code and a message."""
    listed = [{"code": code, "message": message} for code, message in errors]
    content = {"success": False, "errors": listed, "messages": [], "result": result}
    return json_reply(status, content, headers)


def refused(status: int, code: int, message: str) -> Refusal:
    """Make the refusal to raise."""
    return Refusal(failure(status, (code, message)))


def not_routed(path: str) -> Refusal:
    """Refuse a path that leads nowhere."""
    message = f"Could not route to {path}, perhaps your object identifier is invalid?"
    return Refusal(failure(404, (7003, message), (7000, "No route for that URI")))


def read_object(request: Request, code: int, malformed: str) -> dict[str, Any]:
    """Read the body as a JSON object, or refuse with the product's own code and text."""
    try:
        content = request.json()
    except ValueError as error:
        raise refused(400, code, f"{malformed}: {error}") from error
    if not isinstance(content, dict):
        raise refused(400, code, f"{malformed}: expected an object")
    return content


def page(request: Request, items: list[Any], *, per_page: int) -> Reply:
    """Answer with the page that ``page`` and ``per_page`` ask for."""
    number = max(1, _number(request, "page", 1))
    size = max(1, _number(request, "per_page", per_page))
    shown = items[(number - 1) * size : number * size]
    info = {"page": number, "per_page": size, "count": len(shown), "total_count": len(items)}
    return ok(shown, info={**info, "total_pages": -(-len(items) // size)})


def _number(request: Request, name: str, default: int) -> int:
    given = request.query.get(name, "")
    return int(given) if given.isdecimal() else default
