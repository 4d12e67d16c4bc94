"""Keeps what was said until the service has it: files of the user's alone, in the order in which they came."""

from __future__ import annotations

import json
import os
import time

from memory_gateway_hook.failures import Failed, SpoolFull
from memory_gateway_hook.files import Lock, private_folder, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memory_gateway_hook.transcript import Message

MAX_MESSAGES = 100
"""Of one parcel, which is one request."""
MAX_PARCEL_BYTES = 1024 * 1024
MAX_SPOOL_BYTES = 64 * 1024 * 1024
MAX_PARCELS = 10_000

_SUFFIX = ".parcel"
_LOCK_SECONDS = 5.0


class Parcel:
    """Messages of one session that are to be delivered to a profile.

    Attributes:
        path: The file.
        profile, session: Whose they are.
        messages: What was said.
    """

    def __init__(self, path: str, profile: str, session: str, messages: Sequence[Message]) -> None:
        """Take them."""
        self.path, self.profile, self.session, self.messages = path, profile, session, messages


class Spool:
    """The parcels that wait. What is there stays until it is delivered: a full spool takes nothing more."""

    def __init__(self, folder: str, *, max_bytes: int = MAX_SPOOL_BYTES) -> None:
        """Take the folder, which is made where there is none.

        Raises:
            Failed: the folder cannot be made, or others may read it.
        """
        self._folder, self._max_bytes = private_folder(folder), max_bytes

    def put(self, profile: str, session: str, messages: Sequence[Message]) -> None:
        """Keep messages behind all that waits. When this returns, no kill and no power cut loses them.

        Raises:
            SpoolFull: there is no room; nothing was kept.
            Failed: the file cannot be written.
        """
        parcel = {"profile": profile, "session": session, "messages": messages}
        content = json.dumps(parcel, ensure_ascii=False).encode()
        lock = Lock(os.path.join(self._folder, "lock"))
        if not lock.take(time.monotonic() + _LOCK_SECONDS):
            raise Failed("another hook keeps the spool for itself")
        try:
            self._remove_drafts()
            sizes = self._sizes()
            if sum(sizes.values()) + len(content) > self._max_bytes or len(sizes) >= MAX_PARCELS:
                raise SpoolFull(f"the spool is full: {len(sizes)} parcels wait for the service in {self._folder}")
            newest = max((int(name[: -len(_SUFFIX)]) for name in sizes), default=0)
            name = f"{max(time.time_ns(), newest + 1):020}{_SUFFIX}"
            replace(os.path.join(self._folder, name), content, lasts=True)
        except OSError as error:
            raise Failed(f"the spool cannot be written: {error.strerror}") from error
        finally:
            lock.give_back()

    def parcels(self) -> Iterator[Parcel]:
        """Give the parcels that wait, the oldest first.

        A file that is none is put aside, and stays. What cannot be read now keeps none behind it from being delivered.
        """
        for name in sorted(self._sizes()):
            path = os.path.join(self._folder, name)
            try:
                with open(path, "rb") as file:
                    said = json.loads(file.read())
            except OSError:  # delivered meanwhile, or not to be read
                continue
            except (ValueError, RecursionError):
                said = None
            if _is_whole(said):
                yield Parcel(path, said["profile"], said["session"], said["messages"])
            else:
                os.replace(path, f"{path}.unreadable")

    def remove(self, parcel: Parcel) -> None:
        """Remove a parcel that was delivered."""
        try:
            os.unlink(parcel.path)
        except FileNotFoundError:
            pass

    def is_empty(self) -> bool:
        """Tell whether nothing waits, without a look at each of many parcels."""
        with os.scandir(self._folder) as entries:
            return not any(_is_parcel(entry.name) for entry in entries)

    def waits(self) -> tuple[int, int]:
        """Return how many parcels wait, and their bytes."""
        sizes = self._sizes()
        return len(sizes), sum(sizes.values())

    def delivering(self) -> Lock:
        """Return the lock that who delivers holds, so that parcels go in their order."""
        return Lock(os.path.join(self._folder, "delivering"))

    def _sizes(self) -> Mapping[str, int]:
        sizes = {}
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if _is_parcel(entry.name):
                    try:
                        sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
                    except FileNotFoundError:
                        continue
        return sizes

    def _remove_drafts(self) -> None:
        """Remove what a hook that was killed has left: who holds the lock is the only one who writes."""
        for name in os.listdir(self._folder):
            if name.endswith(".draft"):
                os.unlink(os.path.join(self._folder, name))


def _is_parcel(name: str) -> bool:
    return name.endswith(_SUFFIX) and name[: -len(_SUFFIX)].isdecimal()


def _is_whole(said: object) -> bool:
    """Tell whether a file has what one that was written here has."""
    if not isinstance(said, dict) or not isinstance(said.get("messages"), list):
        return False
    named = all(isinstance(said.get(name), str) for name in ("profile", "session"))
    return named and all(isinstance(each, dict) for each in said["messages"])


def parcelled(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Give messages in lists of which each is one parcel."""
    batch: list[Message] = []
    size = 0
    for message in messages:
        bytes_ = len(json.dumps(message, ensure_ascii=False).encode())
        if batch and (len(batch) == MAX_MESSAGES or size + bytes_ > MAX_PARCEL_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += bytes_
    if batch:
        yield batch
