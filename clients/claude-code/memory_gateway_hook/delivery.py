"""Delivers what waits in the spool: in its order, and each message once, by the id that the service makes of it."""

from __future__ import annotations

import json
import os
import sys

from memory_gateway_hook.failures import Failed, Refused, Unanswered
from memory_gateway_hook.files import replace
from memory_gateway_hook.gateway import Gateway

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory_gateway_hook.pinned import Pinned
    from memory_gateway_hook.spool import Parcel, Spool
    from memory_gateway_hook.transcript import Message

_OF_THE_PROFILE = (0, 400, 403, 409, 413, 422)
"""Statuses of problems that keep the parcels of one profile waiting, and no others; 0: the messages failed."""


class Delivery:
    """Delivers the parcels of a spool to the service.

    Attributes:
        held: Why the parcels of a profile stay; "": none had to.
    """

    def __init__(self, spool: Spool, pinned: Pinned, refusals: str) -> None:
        """Take the spool, the service, and the file that counts what the service does not take."""
        self._spool, self._pinned, self._refusals = spool, pinned, refusals
        self.held = ""

    def run(self, until: float, wait_until: float) -> bool:
        """Deliver what waits; tell whether nothing waits any more. Another hook that delivers is waited for.

        A parcel goes away once the service has answered that it has the messages. Who is killed before that delivers
        it again, and the service answers that it knows them. A parcel that its profile cannot take now stays, with all
        behind it of the same profile.

        Raises:
            Unanswered, Refused: the service does not answer, or not to this credential; the rest stays.
        """
        lock = self._spool.delivering()
        if not lock.take(wait_until):
            return False
        try:
            return self._deliver(Gateway(self._pinned, until))
        finally:
            lock.give_back()

    def refused(self) -> str:
        """Return a sentence on what the service has not taken since this was asked last; "": it has taken all."""
        try:
            with open(self._refusals, "rb") as file:
                counts = json.loads(file.read())
            os.unlink(self._refusals)
        except (OSError, ValueError):
            return ""
        codes = ", ".join(f"{count} {code}" for code, count in counts.items())
        return f"the service did not take some messages, which are not remembered ({codes})"

    def _deliver(self, gateway: Gateway) -> bool:
        held: set[str] = set()
        for parcel in self._spool.parcels():
            if parcel.profile in held:
                continue
            try:
                refused = _send(gateway, parcel, parcel.messages)
            except Refused as failure:
                if failure.code != "quota_exceeded" and not (failure.code and failure.status in _OF_THE_PROFILE):
                    raise
                held.add(parcel.profile)
                self.held = f"what was said waits to be delivered: {failure}"
                continue
            if refused:
                self._count(refused)
            self._spool.remove(parcel)
        return not held

    def _count(self, refused: Mapping[str, int]) -> None:
        try:
            with open(self._refusals, "rb") as file:
                counts = json.loads(file.read())
        except (OSError, ValueError):
            counts = {}
        for code, count in refused.items():
            counts[code] = counts.get(code, 0) + count
        replace(self._refusals, json.dumps(counts).encode())


def _send(gateway: Gateway, parcel: Parcel, messages: Sequence[Message]) -> Mapping[str, int]:
    """Send messages; return how many the service will never take, by the code of the problem.

    Messages that are refused together are sent in halves, so that one which the service never takes keeps no other
    from it. One alone is sent without its time, which may be what is wrong with it and does not make it what it is.

    Raises:
        Unanswered, Refused: the service does not have all of them now, and may later.
    """
    try:
        answer = gateway.of_profile(parcel.profile, "ingest", {"session_id": parcel.session, "messages": messages})
    except Refused as failure:
        if failure.code == "long_term_disabled":
            return {failure.code: len(messages)}
        if not failure.of_messages:
            raise
        if len(messages) == 1 and "timestamp" in messages[0]:
            undated = {name: value for name, value in messages[0].items() if name != "timestamp"}
            return _send(gateway, parcel, [undated])
        if len(messages) == 1:
            return {failure.code: 1}
        middle = len(messages) // 2
        first = _send(gateway, parcel, messages[:middle])
        second = _send(gateway, parcel, messages[middle:])
        return {code: first.get(code, 0) + second.get(code, 0) for code in {**first, **second}}
    if answer.get("failed"):
        items = answer.get("messages")
        codes = sorted({str(each.get("code")) for each in items or [] if each.get("status") == "failed"})
        raise Refused(f"{answer['failed']} messages were not stored: {', '.join(codes)}", 0, codes[0] if codes else "")
    if not isinstance(answer.get("stored"), int):
        raise Unanswered("the answer is none of the service's")
    return {}


def go_on_alone(settings: str) -> None:
    """Start a process that delivers what waits, and that does not end with this one."""
    import subprocess  # noqa: PLC0415 - seldom needed, and it takes 9 ms

    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "memory_hook.py")
    silent = subprocess.DEVNULL
    try:
        subprocess.Popen(  # noqa: S603 - the command is ours
            [sys.executable, "-I", "-S", script, "--settings", os.path.abspath(settings), "deliver"],
            stdin=silent,
            stdout=silent,
            stderr=silent,
            cwd=os.path.dirname(script),
            start_new_session=True,
        )
    except OSError as error:
        raise Failed(f"what waits cannot be delivered now: {error.strerror}") from error
