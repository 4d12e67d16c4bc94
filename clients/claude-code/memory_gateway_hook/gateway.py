"""Calls the service: each request has a connection of its own, and no answer is waited for beyond a moment."""

from __future__ import annotations

import json
import socket
import time

from memory_gateway_hook.failures import Failed, Late, Refused, Unanswered
from memory_gateway_hook.pinned import Pinned

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes 3 ms to import
    from collections.abc import Callable, Mapping
    from typing import Any

_MAX_ANSWER_BYTES = 8 * 1024 * 1024
_MAX_HEAD_BYTES = 64 * 1024
_MAX_TOLD = 300
"""Characters of a problem that are told."""
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:")
_OK = (200, 201, 202)


class Gateway:
    """Calls the service until a moment. It follows no redirect and asks no proxy of the environment."""

    def __init__(self, pinned: Pinned, until: float) -> None:
        """Take where the service is, the credential, and the moment, by ``time.monotonic``."""
        self._pinned, self._until = pinned, until

    def of_profile(self, profile: str, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Call an operation of a profile and return its answer. Raises as ``post`` does."""
        quoted = "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in profile.encode())
        return self.post(f"/profiles/{quoted}/{operation}", body)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send JSON and return the answer.

        Raises:
            Unanswered: there is no answer in time, or it is none of the service.
            Refused: the service answers with a problem.
        """
        try:
            status, content = self._exchange(self._request(path, body))
            answer = _json(content) if status not in _OK else json.loads(content)
        except TimeoutError as error:
            raise self._late() from error
        except (OSError, ValueError, RecursionError) as error:
            raise Unanswered(f"{self._pinned.url} gave no answer that can be read: {self._told(error)}") from error
        if status not in _OK:
            raise self._problem(status, answer)
        if not isinstance(answer, dict):
            raise Unanswered(f"{self._pinned.url} is not the service")
        return answer

    def left(self) -> float:
        """Return the seconds that are left.

        Raises:
            Late: there are none.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise self._late()
        return left

    def _late(self) -> Late:
        return Late(f"{self._pinned.url} does not answer in time")

    def _request(self, path: str, body: Mapping[str, Any]) -> bytes:
        content = json.dumps(body, ensure_ascii=False).encode()
        pinned = self._pinned
        host = f"[{pinned.host}]" if ":" in pinned.host else pinned.host
        head = (
            f"POST {pinned.path}{path} HTTP/1.1\r\nHost: {host}:{pinned.port}\r\nConnection: close\r\n"
            f"Authorization: Bearer {pinned.token}\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
            f"User-Agent: memory-gateway-hook\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode("ascii") + content

    def _exchange(self, request: bytes) -> tuple[int, bytes]:
        pinned = self._pinned
        try:
            connection = socket.create_connection((pinned.host, pinned.port), timeout=self.left())
        except TimeoutError as error:
            raise self._late() from error
        except OSError as error:
            raise Unanswered(f"{pinned.url} does not answer: {self._told(error)}") from error
        with connection:
            if pinned.secure:
                import ssl  # noqa: PLC0415 - it takes as long as all else, and a service on this machine needs none

                connection = ssl.create_default_context().wrap_socket(connection, server_hostname=pinned.host)
            try:
                connection.sendall(request)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it may have refused what it has not read; then the answer is there
            return _read(connection, self.left)

    def _problem(self, status: int, answer: object) -> Failed:
        said = answer if isinstance(answer, dict) else {}
        code, detail = said.get("code"), said.get("detail")
        if not isinstance(code, str) or not isinstance(detail, str):
            return Refused(f"the answer of {self._pinned.url} was {status}", status, "")
        errors = said.get("errors")
        fields = (
            [str(each.get("field")) for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
        )
        of_messages = bool(fields) and all(field.startswith("messages") for field in fields)
        told = self._told(f"{code}: {detail} {said.get('advice') or ''}")
        return Refused(told, status, code, of_messages=of_messages)

    def _told(self, said: object) -> str:
        """Return one short line in which the credential does not stand."""
        line = " ".join(str(said).replace(self._pinned.token, "***").split())
        return line if len(line) <= _MAX_TOLD else f"{line[:_MAX_TOLD]} ..."


def _json(content: bytes) -> object:
    """Return what a problem says; None where it is no JSON, as that of a proxy."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _read(connection: socket.socket, left: Callable[[], float]) -> tuple[int, bytes]:
    """Read one answer of HTTP/1.1, until it is whole.

    Raises:
        OSError, ValueError: it does not come, or is none.
    """
    received = bytearray()

    def more() -> bool:
        connection.settimeout(left())
        part = connection.recv(65536)
        received.extend(part)
        if len(received) > _MAX_ANSWER_BYTES:
            raise ValueError("the answer is too long")
        return bool(part)

    while (end := received.find(b"\r\n\r\n")) < 0:
        if not more() or len(received) > _MAX_HEAD_BYTES:
            raise ValueError("the answer is no HTTP")
    status, fields = _head(bytes(received[:end]))
    start = end + 4
    if fields.get("transfer-encoding", "").lower() == "chunked":
        return status, _chunks(received, start, more)
    length = int(fields["content-length"]) if "content-length" in fields else None
    while length is None or len(received) - start < length:
        if not more():
            if length is None:
                break
            raise ValueError("the answer ends too early")
    return status, bytes(received[start : None if length is None else start + length])


def _head(head: bytes) -> tuple[int, Mapping[str, str]]:
    """Return the status of an answer, and its fields by their names in small letters."""
    lines = head.decode("latin-1").split("\r\n")
    version, _, rest = lines[0].partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("the answer is no HTTP")
    fields = (line.partition(":") for line in lines[1:])
    return int(rest[:3]), {name.strip().lower(): value.strip() for name, _, value in fields}


def _chunks(received: bytearray, at: int, more: Callable[[], bool]) -> bytes:
    """Return the body that comes in chunks from a position on."""
    body = bytearray()
    while True:
        while (end := received.find(b"\r\n", at)) < 0:
            if not more():
                raise ValueError("the answer ends too early")
        size = int(bytes(received[at:end]).split(b";")[0], 16)
        if not 0 <= size <= _MAX_ANSWER_BYTES:
            raise ValueError("the answer is too long")
        while len(received) < end + 4 + size:
            if not more():
                raise ValueError("the answer ends too early")
        if size == 0:
            return bytes(body)
        body += received[end + 2 : end + 2 + size]
        at = end + 4 + size
