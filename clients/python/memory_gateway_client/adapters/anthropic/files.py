"""Files as memories of an agent: each version of a file is a memory, and the newest one is the file.

The text is the content, the path and the directories on the way to it are metadata. A file is deleted by forgetting its
versions: where the newest one is forgotten, there is no file.
"""

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory_gateway_client import Memory, MemoryClient
from memory_gateway_client.adapters.anthropic.paths import NotAPath, Place, place

_PAGE = 100
_APART_SECONDS = 0.002
_STORE = {"store": "memory_20250818"}
_KEY = "store.key"
_BLANK = "store.blank"
"""The text of a file without any words, which no content can be: its content is its path then."""


@dataclass(frozen=True, slots=True)
class File:
    """A file, and how many bytes of UTF-8 its text has."""

    place: Place
    text: str

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(self.text.encode(errors="surrogatepass"))


class Files:
    """The files of the client's agent. Every method raises as the client does."""

    def __init__(self, client: MemoryClient) -> None:
        """Take the client whose agent's files these are.

        Raises:
            ValueError: the client has no agent.
        """
        if client.agent_id is None:
            raise ValueError("The client has no agent: give it one (agent_id= or MEMORY_GATEWAY_AGENT).")
        self._client = client

    def file(self, at: Place) -> File | None:
        """Return the file there, if there is one."""
        newest = next(self._versions(_STORE | {_KEY: str(at)}, page=1), None)
        return None if newest is None or newest.forgotten_at is not None else _file(newest)

    def within(self, directory: Place) -> list[File]:
        """Return the files in a directory, at any depth, ordered by their names."""
        return sorted(self._current(directory), key=lambda file: file.place)

    def is_directory(self, at: Place) -> bool:
        """Whether files are in it; ``/memories`` is always a directory."""
        return not at.names or next(self._current(at), None) is not None

    def write(self, at: Place, text: str) -> None:
        """Store a new version of the file; the older ones are kept."""
        metadata = _metadata(at) if text.strip() else _metadata(at) | {_BLANK: text}
        # With a session of its own the same text again, or at another place, is a memory of its own.
        self._client.store(text if text.strip() else str(at), metadata=metadata, session_id=secrets.token_hex(16))
        # The service tells the time in milliseconds: what is written after this is to be newer.
        time.sleep(_APART_SECONDS)

    def forget(self, files: Sequence[File]) -> None:
        """Forget all versions of the files; the oldest first, so that a file is there until all of it is forgotten."""
        for file in files:
            versions = self._versions(_STORE | {_KEY: str(file.place)})
            for memory in reversed([each for each in versions if each.forgotten_at is None]):
                self._client.forget(memory.id)

    def _current(self, directory: Place) -> Iterator[File]:
        """Give the newest version of each file in a directory, unless it is forgotten."""
        seen: set[str] = set()
        for memory in self._versions(_within(directory)):
            path = memory.metadata[_KEY]
            if path not in seen and memory.forgotten_at is None:
                yield _file(memory)
            seen.add(path)

    def _versions(self, where: dict[str, str], *, page: int = _PAGE) -> Iterator[Memory]:
        """Give the versions of files, newest first, the forgotten ones too."""
        cursor: str | None = None
        while True:
            listed = self._client.list_memories(metadata=where, limit=page, cursor=cursor)
            yield from filter(_is_file, listed.memories)
            if listed.cursor is None:
                return
            cursor = listed.cursor


def _within(directory: Place) -> dict[str, str]:
    """Return the metadata that all files in a directory have; metadata is compared for equality alone."""
    return _STORE | ({f"store.{len(directory.names)}": str(directory)} if directory.names else {})


def _metadata(at: Place) -> dict[str, str]:
    levels = {f"store.{level}": str(above) for level, above in enumerate(at.above, start=1)}
    return _STORE | levels | {_KEY: str(at)}


def _is_file(memory: Memory) -> bool:
    """Whether this is a version of a file: by its other tools the agent can store what merely looks like one."""
    path, blank = memory.metadata.get(_KEY), memory.metadata.get(_BLANK, "")
    if not isinstance(path, str) or not isinstance(blank, str):
        return False
    try:
        at = place(path)
    except NotAPath:
        return False
    return bool(at.names) and memory.metadata == _metadata(at) | ({_BLANK: blank} if _BLANK in memory.metadata else {})


def _file(memory: Memory) -> File:
    return File(place(memory.metadata[_KEY]), memory.metadata.get(_BLANK, memory.content))
