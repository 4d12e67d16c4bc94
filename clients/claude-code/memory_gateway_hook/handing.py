"""Puts what was said in a session into the spool, and what was put there before only once."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time

from memory_gateway_hook.failures import Failed
from memory_gateway_hook.spool import MAX_MESSAGES, MAX_PARCEL_BYTES, parcelled
from memory_gateway_hook.transcript import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from memory_gateway_hook.sessions import Session
    from memory_gateway_hook.spool import Spool
    from memory_gateway_hook.transcript import Message

_DIGESTED = 1024


def hand_over(session: Session, spool: Spool, until: float) -> bool:
    """Put what the transcript has got since it was read last into the spool; tell whether that was all of it.

    The lock of the session is held meanwhile. The spool has each part before the session says so: a hook that is
    killed between the two puts the part there again, and the service knows it by its ids.

    Raises:
        SpoolFull: the rest stays in the transcript until there is room.
        Failed: the transcript cannot be read, or the spool not be written.
    """
    if not session.take(until):
        return False  # another hook does the same
    try:
        with _opened(session.transcript) as file:
            return _read(file, session, spool, until)
    except OSError as error:
        raise Failed(f"the transcript cannot be read: {error.strerror or error}") from error
    finally:
        session.give_back()


def _opened(path: str) -> BinaryIO:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Failed("the transcript cannot be read: it is no file")
    return open(descriptor, "rb")


def _read(file: BinaryIO, session: Session, spool: Spool, until: float) -> bool:
    position = session.offset
    if position and _before(file, position) != session.before:
        position = 0  # another file than the one that was read
    file.seek(position)
    batch: list[Message] = []
    began = position
    while True:
        line = file.readline()
        if not line or not (line.endswith(b"\n") or _is_whole(line)):
            break
        position += len(line)
        batch.extend(messages([line]))
        if len(batch) >= MAX_MESSAGES or position - began >= MAX_PARCEL_BYTES:
            _put(batch, position, file, session, spool)
            batch, began = [], position
            if time.monotonic() >= until:
                return False
    if position != session.offset:
        _put(batch, position, file, session, spool)
    return True


def _put(batch: list[Message], position: int, file: BinaryIO, session: Session, spool: Spool) -> None:
    for parcel in parcelled(batch):
        spool.put(session.profile, session.name, parcel)
    session.offset, session.before = position, _before(file, position)
    session.save()


def _is_whole(line: bytes) -> bool:
    """Tell whether a last line without an end is whole, or is still being written."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _before(file: BinaryIO, position: int) -> str:
    """Return a digest of what stands before a position, and leave the file there."""
    start = max(0, position - _DIGESTED)
    file.seek(start)
    return hashlib.sha256(file.read(position - start)).hexdigest()[:32]
