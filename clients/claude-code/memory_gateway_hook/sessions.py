"""What the hooks know of a session: what it was shown, and how much of its transcript is in the spool."""

from __future__ import annotations

import hashlib
import json
import os
import time

from memory_gateway_hook.failures import Failed
from memory_gateway_hook.files import Lock, private_folder, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SHOWN = 2_000
"""Ids of memories that a session is known to have been shown: the newest."""
MAX_SESSIONS = 500
_SECONDS_KEPT = 90 * 86_400
_SECONDS_OF_A_DRAFT = 3_600
_MAX_SESSION_BYTES = 64
"""Of a session's name, as the service takes it."""


class Session:
    """One session. Whoever changes it holds its lock.

    Attributes:
        name: The session's name at the service.
        profile: Whose it is; "" where that is not known yet.
        transcript: The path of the transcript; "" where there is none.
        offset: The bytes of the transcript that are in the spool, or were.
        before: A digest of what stands before ``offset``: another transcript has another one.
        shown: The ids of memories that were shown.
        summary: What the session began with.
        compacted: When it was compacted last, as the service writes a moment; "": never. What was said before is
            out of the model's sight.
        told: Whether it was told that the service does not answer.
    """

    def __init__(self, path: str, name: str) -> None:
        """Read what is known; what cannot be read is not known."""
        self._path, self._lock = path, Lock(f"{path}.lock")
        self.name = name
        self.read()

    def read(self) -> None:
        """Read what is known again."""
        known: dict[str, object] = {}
        try:
            with open(self._path, "rb") as file:
                found = json.loads(file.read())
            known = found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            pass  # a session that nothing is known of
        self.name = str(known.get("name") or self.name)
        self.profile = str(known.get("profile") or "")
        self.transcript = str(known.get("transcript") or "")
        self.before = str(known.get("before") or "")
        self.summary = str(known.get("summary") or "")
        self.compacted = str(known.get("compacted") or "")
        offset, shown = known.get("offset"), known.get("shown")
        self.offset = offset if isinstance(offset, int) else 0
        self.shown = [str(each) for each in shown] if isinstance(shown, list) else []
        self.told = known.get("told") is True

    def take(self, until: float) -> bool:
        """Take the lock and read again what is known; False: another hook holds it until that moment."""
        if not self._lock.take(until):
            return False
        self.read()
        return True

    def save(self) -> None:
        """Write what is known now.

        Raises:
            Failed: it cannot be written.
        """
        self.shown = self.shown[-MAX_SHOWN:]
        known = {
            name: getattr(self, name)
            for name in ("name", "profile", "transcript", "offset", "before", "shown", "summary", "compacted", "told")
        }
        try:
            replace(self._path, json.dumps(known, ensure_ascii=False).encode())
        except OSError as error:
            raise Failed(f"{self._path} cannot be written: {error.strerror}") from error

    def give_back(self) -> None:
        """End the lock."""
        self._lock.give_back()

    def forget(self) -> None:
        """Remove what is known of the session."""
        for path in (self._path, f"{self._path}.lock"):
            _remove(path)

    def unspooled(self) -> bool:
        """Tell whether the transcript has grown since it was read."""
        try:
            return bool(self.transcript) and os.stat(self.transcript).st_size != self.offset
        except OSError:
            return False


class Sessions:
    """The sessions that are known, each in a file of its own."""

    def __init__(self, folder: str) -> None:
        """Take the folder, which is made where there is none.

        Raises:
            Failed: the folder cannot be made, or others may read it.
        """
        self._folder = private_folder(folder)

    def of(self, session_id: object, transcript: object) -> Session:
        """Return a session; one without a name, or with a long one, is named after its id or its transcript."""
        name = session_id if isinstance(session_id, str) else ""
        if not name or len(name.encode(errors="replace")) > _MAX_SESSION_BYTES or not name.isprintable():
            name = hashlib.sha256(str(name or transcript).encode(errors="replace")).hexdigest()
        digest = hashlib.sha256(name.encode()).hexdigest()[:32]
        return Session(os.path.join(self._folder, f"{digest}.json"), name)

    def known(self) -> Iterator[Session]:
        """Give the sessions, the one that was heard of last first; the oldest beyond ``MAX_SESSIONS`` are forgotten."""
        with os.scandir(self._folder) as entries:
            files = [(_changed(each), each.path) for each in entries if not each.name.endswith(".lock")]
        oldest = time.time() - _SECONDS_KEPT
        for changed, path in files:
            if path.endswith(".draft") and changed < time.time() - _SECONDS_OF_A_DRAFT:
                _remove(path)  # a hook was killed while it wrote it
        files = [each for each in files if each[1].endswith(".json")]
        for number, (changed, path) in enumerate(sorted(files, reverse=True)):
            session = Session(path, "")
            if (number >= MAX_SESSIONS or changed < oldest) and not session.unspooled():
                session.forget()
            else:
                yield session


def _changed(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat().st_mtime
    except FileNotFoundError:  # another hook has removed it
        return 0.0


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
