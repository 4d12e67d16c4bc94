"""Reads a conversation from the body of a request, message by message, by the schema of the route's messages."""

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from app.domain.errors import FieldError
from app.domain.limits import MAX_MESSAGES
from app.domain.messages import NewMessage
from app.interfaces.fields import invalid, refused
from app.interfaces.http.long_body import members
from app.interfaces.http.middleware import INGEST_BYTES

_MAX_NAMED = 20


class SentMessage(Protocol):
    """The schema of a message."""

    @classmethod
    def model_validate(cls, obj: Any, /) -> Self:  # noqa: ANN401 - any JSON
        """Read a message; raises ``ValidationError``."""
        ...

    def to_message(self) -> NewMessage:
        """Return the domain's new message."""
        ...


_Head = TypeVar("_Head", bound=BaseModel)


def conversation_body(schema: str) -> dict[str, Any]:
    """Describe a body that ``read_conversation`` reads, by the name of its schema."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    description = f"At most {INGEST_BYTES} bytes. It is read message by message."
    return {"requestBody": {"required": True, "description": description, "content": content}}


async def read_conversation(
    request: Request, message: type[SentMessage], head: type[_Head]
) -> tuple[Sequence[NewMessage], _Head]:
    """Read the messages by the schema ``message``, and the body's other fields by the schema ``head``.

    Raises:
        InvalidRequest: or a subclass, which names each field that is wrong.
    """
    messages: list[NewMessage] = []
    beside: dict[str, Any] = {}
    errors: list[dict[str, Any]] = []
    async for name, number, value in members(request, "messages"):
        beside[name] = value if number is None else messages
        if number is None:
            continue
        if number == MAX_MESSAGES:
            raise refused([FieldError("messages", f"has more than {MAX_MESSAGES} messages")])
        try:
            messages.append(message.model_validate(value).to_message())
        except ValidationError as error:
            errors += _located(error, "messages", number)
            if len(errors) >= _MAX_NAMED:
                break
    if "messages" not in beside:
        errors.append({"type": "missing", "loc": ("body", "messages"), "msg": "Field required"})
    elif not isinstance(beside.pop("messages"), list):
        errors.append({"type": "list_type", "loc": ("body", "messages"), "msg": "Input should be a valid list"})
    try:
        read = head.model_validate(beside)
    except ValidationError as error:
        errors += _located(error)
    if errors:
        raise invalid(errors)
    return messages, read


def _located(error: ValidationError, *path: str | int) -> list[dict[str, Any]]:
    return [{**each, "loc": ("body", *path, *each["loc"])} for each in error.errors()]
