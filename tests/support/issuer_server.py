"""An issuer on a socket that answers what a test sets, however wrong that is."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

DISCOVERY = "/.well-known/openid-configuration"


@dataclass
class Reply:
    """An answer: its status, its body, further headers, and the seconds before each of its parts."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    parts: int = 1
    pause: float = 0.0
    cut: bool = False
    """Whether the connection ends in the middle of the body."""


@dataclass
class Asked:
    """A request that came."""

    method: str
    path: str
    headers: Mapping[str, str]
    form: Mapping[str, str]


class IssuerServer:
    """Serves a document, keys and a token endpoint; ``replies`` has the answer of each path."""

    def __init__(self) -> None:
        self.url = ""
        self.replies: dict[str, Reply] = {}
        self.asked: list[Asked] = []

    def set(self, path: str, body: Any, **reply: Any) -> None:
        self.replies[path] = Reply(body if isinstance(body, bytes) else json.dumps(body).encode(), **reply)

    def document(self, **members: Any) -> dict[str, Any]:
        """Return the document of an issuer that is well, with other members in their place; None leaves one out."""
        usual = {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
        }
        return {name: value for name, value in (usual | members).items() if value is not None}

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().split("\r\n")
                method, path, _ = lines[0].split(" ")
                headers = {
                    name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)
                }
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
                self.asked.append(Asked(method, path, headers, form))
                await self._send(self.replies.get(path, Reply(b"{}", 404)), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        headers = {"Content-Type": "application/json", "Content-Length": str(len(reply.body)), **reply.headers}
        lines = [f"HTTP/1.1 {reply.status} Said", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        size = max(1, len(reply.body) // reply.parts)
        for start in range(0, len(reply.body), size):
            await asyncio.sleep(reply.pause)
            if reply.cut and start:
                raise ConnectionResetError
            writer.write(reply.body[start : start + size])
            await writer.drain()


@asynccontextmanager
async def issuer_server() -> AsyncIterator[IssuerServer]:
    issuer = IssuerServer()
    server = await asyncio.start_server(issuer.answer, "127.0.0.1", 0)
    issuer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield issuer
    finally:
        server.close()
