"""What is done at each event of a session."""

from __future__ import annotations

import os
import time

from memory_gateway_hook import context
from memory_gateway_hook.delivery import Delivery, go_on_alone
from memory_gateway_hook.failures import Failed, Late, Refused, SpoolFull, Unanswered
from memory_gateway_hook.files import private_folder
from memory_gateway_hook.gateway import Gateway
from memory_gateway_hook.handing import hand_over
from memory_gateway_hook.pinned import PROMPT_SECONDS, profile_of, read_pinned
from memory_gateway_hook.sessions import Sessions
from memory_gateway_hook.spool import Spool, parcelled
from memory_gateway_hook.transcript import given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

SECONDS = {"SessionStart": 8.0, "UserPromptSubmit": PROMPT_SECONDS, "PreCompact": 20.0, "SessionEnd": 1.2}
"""How long each event may take, with Python's start; Claude Code is told to wait longer (hooks/hooks.json).

The user's file may give a prompt more time, for a service that is far away.
"""
ALONE_SECONDS = 120.0
"""How long the process takes that delivers what an event had no time for."""

_LOCK_SECONDS = 0.05
_SWEEP_SECONDS = 1.0
_DELIVERY_SECONDS = 3.0


class Said:
    """What an event has to say.

    Attributes:
        text: What the model is given; "": nothing.
        entries: The memories in it, where it is of memories.
        notice: What the user is told; "": nothing.
        failures: Lines for standard error.
    """

    def __init__(self, text: str = "", entries: Sequence[dict[str, Any]] = ()) -> None:
        """Take what the model is given."""
        self.text, self.entries, self.notice = text, entries, ""
        self.failures: list[str] = []
        self._after: list[Callable[[], None]] = []

    def after(self, do: Callable[[], None]) -> None:
        """Have something done once all was printed."""
        self._after.append(do)

    def printed(self) -> None:
        """Do what was left for later. A hook that is killed before has said nothing, and says it again.

        Raises:
            OSError, Failed: it could not be done.
        """
        for do in self._after:
            do()


class Hook:
    """Does what an event of a session asks for.

    Attributes:
        kept: Whether ``hand_over`` has kept what was said, or left it in the transcript that it lies in.
    """

    def __init__(self, settings: str, event: Mapping[str, Any], *, agent: str | None, project: str) -> None:
        """Take the user's file, the event, the profile that the command line names, and the project's directory.

        Raises:
            Failed: the user's file cannot be used, or what the hooks keep beside it.
        """
        self._settings, self._event, self.kept = settings, event, False
        self._pinned = read_pinned(settings)
        self.prompt_seconds = self._pinned.prompt_seconds
        self.profile = profile_of(project, agent or self._pinned.agent)
        folder = private_folder(f"{os.path.splitext(settings)[0]}.state")
        self._spool = Spool(os.path.join(folder, "spool"))
        self._sessions = Sessions(os.path.join(folder, "sessions"))
        self._delivery = Delivery(self._spool, self._pinned, os.path.join(folder, "refused.json"))
        transcript = event.get("transcript_path")
        self._transcript = transcript if isinstance(transcript, str) else ""
        self._session = self._sessions.of(event.get("session_id"), self._transcript)

    def session_start(self, until: float) -> Said:
        """Return what is known, after what waits was delivered. Raises ``Failed``."""
        session, now, said = self._session, time.monotonic(), Said()
        if self._take(_LOCK_SECONDS):
            if self._event.get("source") in ("compact", "clear"):
                session.shown, session.summary = [], ""
                session.compacted = time.strftime("%Y-%m-%dT%H:%M:%S.999Z", time.gmtime())
            self._try(said, self._note)
        self._try(said, lambda: self._sweep(min(until, now + _SWEEP_SECONDS)))
        wait = min(until, time.monotonic() + _DELIVERY_SECONDS)
        try:
            self._try(said, lambda: self._deliver(said, wait))
            answer = Gateway(self._pinned, until).of_profile(self.profile, "summary", {})
        except (Unanswered, Refused) as failure:
            self._away(said, failure)
            return said
        summary = answer.get("summary")
        said.text = context.begun(summary if isinstance(summary, str) else "")
        notices = [said.notice, self._delivery.refused(), self._delivery.held]
        said.notice = "; ".join(each for each in notices if each)
        if said.text:
            said.after(lambda: self._change(lambda: setattr(session, "summary", context.words(str(summary)))))
        return said

    def pre_turn(self, until: float) -> Said:
        """Return the memories that concern the prompt and that the session was not shown. Raises ``Failed``."""
        query, said = context.query_of(str(self._event.get("prompt") or "")), Said()
        if self._take(_LOCK_SECONDS):
            self._try(said, self._note)
        if not query:
            return said
        try:
            answer = self._recall(query, until)
        except (Unanswered, Refused) as failure:
            self._away(said, failure)
            return said
        if not self._session.take(time.monotonic() + _LOCK_SECONDS):
            return said  # a hook of the same session shows what it has found
        found = context.recalled(answer.get("entries"), self._session)
        said.text, said.entries = found.text, found.entries

        def shown() -> None:
            self._session.shown += [str(entry.get("id")) for entry in found.entries]
            self._session.save()

        if found.entries:
            said.after(shown)
        said.after(self._session.give_back)
        if not found.entries and answer.get("degraded"):
            self._session.give_back()
            self._away(said, Unanswered(f"the service recalls in part only: {answer['degraded']}"))
        if not self._spool.is_empty():
            said.after(lambda: go_on_alone(self._settings))
        return said

    def hand_over(self, until: float) -> Said:
        """Keep what was said in the session, and deliver it as far as there is time.

        Raises:
            Failed: it could not be kept.
        """
        said = Said()
        try:
            self._keep(until)
            full = False
        except SpoolFull:
            full = True
        try:
            self._deliver(said, until)
        except (Unanswered, Refused) as failure:
            self._away(said, failure)
        if full:  # there may be room now
            self._keep(until)
        said.text = ""  # no model reads it at these events
        return said

    def alone(self, until: float) -> Said:
        """Deliver what waits, and what sessions have said that no event has handed over. Raises ``Failed``."""
        whole = False
        while not whole and time.monotonic() < until:
            try:
                self._sweep(until)
                whole = True
            except SpoolFull:
                pass  # what waits makes room
            if not self._delivery.run(until, until):
                break
        return Said()

    def preview(self, until: float) -> Said:
        """Return what a session would begin with now, and the prompt be given; nothing of it counts as shown.

        Raises:
            Failed: the service does not answer.
        """
        query = context.query_of(str(self._event.get("prompt") or ""))
        if not query:
            summary = Gateway(self._pinned, until).of_profile(self.profile, "summary", {}).get("summary")
            return Said(context.begun(str(summary or "")))
        found = context.recalled(self._recall(query, until).get("entries"), self._session)
        return Said(found.text, found.entries)

    def status(self, until: float) -> Said:
        """Return what the hooks are set to, whether the service answers, and what waits. Raises ``Failed``."""
        parcels, bytes_ = self._spool.waits()
        try:
            summary = Gateway(self._pinned, until).of_profile(self.profile, "summary", {}).get("summary")
            state = "answers" if summary else "answers; nothing is remembered yet"
        except (Unanswered, Refused) as failure:
            state = f"does not serve: {failure}"
        waits = f"{parcels} parcels, {bytes_} bytes" if parcels else "nothing"
        return Said(f"service: {self._pinned.url} {state}\nprofile: {self.profile}\nwaits to be delivered: {waits}")

    def _recall(self, query: str, until: float) -> dict[str, Any]:
        asked = {
            "agent_id": self.profile,
            "query": query,
            "top_k": context.TOP_K,
            "min_score": context.MIN_SCORE,
            "collapse": True,
            "for_model": True,
        }
        return Gateway(self._pinned, until).post("/recall", asked)

    def _keep(self, until: float) -> None:
        """Put what was said into the spool: the messages of the event, or what the transcript has."""
        session, listed = self._session, self._event.get("messages")
        if listed is not None:
            for parcel in parcelled(given(listed)):
                self._spool.put(self.profile, session.name, parcel)
        if self._transcript or listed is None:
            if self._take(_LOCK_SECONDS):
                self._note()
            session.transcript = self._transcript
            hand_over(session, self._spool, until)
        self.kept = True

    def _sweep(self, until: float) -> None:
        """Put what other sessions have said into the spool: Claude Code, or a hook, may have been killed.

        Raises:
            SpoolFull: there is no room for the rest.
        """
        for session in self._sessions.known():
            if session.name != self._session.name and session.profile and session.unspooled():
                try:
                    hand_over(session, self._spool, until)
                except SpoolFull:
                    raise
                except Failed:
                    continue  # a transcript that cannot be read keeps no other from being read
            if time.monotonic() >= until:
                return

    def _deliver(self, said: Said, until: float) -> None:
        """Deliver what waits; what there is no time for is left to a process of its own."""
        if self._spool.is_empty():
            return
        try:
            self._delivery.run(until, until)
        except Unanswered:
            if time.monotonic() < until:
                raise
            said.after(lambda: go_on_alone(self._settings))

    def _take(self, seconds: float) -> bool:
        return self._session.take(time.monotonic() + seconds)

    def _note(self) -> None:
        """Note whose the session is and where its transcript lies, so that another hook finds it; end the lock."""
        session = self._session
        try:
            noted = (session.profile, session.transcript)
            session.profile, session.transcript = self.profile, self._transcript or session.transcript
            if noted != (session.profile, session.transcript) or self._event.get("source") in ("compact", "clear"):
                session.save()
        finally:
            session.give_back()

    def _change(self, change: Callable[[], None]) -> None:
        if self._take(_LOCK_SECONDS):
            try:
                change()
                self._session.save()
            finally:
                self._session.give_back()

    def _try(self, said: Said, do: Callable[[], None]) -> None:
        """Do what the rest of the event does not hang on; what fails is told. That the service is away is raised."""
        try:
            do()
        except Unanswered:
            raise
        except Failed as failure:
            said.failures.append(str(failure))
            if isinstance(failure, SpoolFull):
                said.notice = str(failure)

    def _away(self, said: Said, failure: Failed) -> None:
        """Say once in a session that the service is away; an agent whose memory is switched off is told nothing."""
        if self._session.told or (isinstance(failure, Refused) and failure.code == "long_term_disabled"):
            return
        late = isinstance(failure, Late)
        said.text = said.text or (context.LATE if late else context.UNAVAILABLE)
        goes_on = (
            "This goes on without memory, and the next is asked again" if late else "The session goes on without memory"
        )
        said.notice = f"{failure}. {goes_on}; what is said is kept, and delivered later."
        said.failures.append(str(failure))
        said.after(lambda: self._change(lambda: setattr(self._session, "told", True)))
