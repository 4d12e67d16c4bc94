"""What any memory service has to do to be measured."""

from dataclasses import dataclass
from typing import Protocol

from bench.quality.dataset import Memory


class ServiceFailed(Exception):
    """The service refused a request, or does not do what its adapter needs."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service found."""

    turn_ids: tuple[str, ...]
    """The turns, best first, each once."""
    confidence: float | None = None
    """How sure the service says it is that the answer is among them."""
    top_score: float | None = None
    """The score of the first entry: stands in where the service tells no confidence."""
    scores: tuple[float, ...] = ()
    """The score of each turn, where the service's own are meant to be compared with a cut."""


class Service(Protocol):
    """A memory service. A namespace holds one conversation and is new: nothing has to be removed before.

    Every method raises ``ServiceFailed`` where the service does not answer with success.
    """

    async def store(self, namespace: str, memory: Memory) -> None:
        """Store one memory as it is; turns of a namespace come one after another, in order."""

    async def ready(self, namespace: str) -> None:
        """Return once everything that was stored there is searched."""

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        """Return at most so many turns for the question, asked at a time (RFC 3339); None: now."""


def ranked(turn_ids: list[str]) -> tuple[str, ...]:
    """Keep the first place of each turn: a service may have kept one turn as several memories."""
    return tuple(dict.fromkeys(turn_ids))
