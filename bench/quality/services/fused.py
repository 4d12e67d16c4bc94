"""Reciprocal rank fusion of services: what anyone gets who puts two searches together."""

from collections import defaultdict
from collections.abc import Sequence

from bench.quality.dataset import Memory
from bench.quality.service import Answer, Service

CONSTANT = 60
DEPTH = 100
"""So many turns of each service are fused."""


class Fused:
    """Tells several services everything, and orders what they find by the sum of their 1 / (60 + place)."""

    def __init__(self, services: Sequence[Service]) -> None:
        """Take the services; of turns with equal sums those of the first come first."""
        self._services = services

    async def store(self, namespace: str, memory: Memory) -> None:
        """Store it in each."""
        for service in self._services:
            await service.store(namespace, memory)

    async def ready(self, namespace: str) -> None:
        """Return once each is."""
        for service in self._services:
            await service.ready(namespace)

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        """Ask each for its best and return the best of all."""
        sums: defaultdict[str, float] = defaultdict(float)
        for service in self._services:
            answer = await service.ask(namespace, question, DEPTH, at)
            for place, turn in enumerate(answer.turn_ids, 1):
                sums[turn] += 1 / (CONSTANT + place)
        best = sorted(sums, key=lambda turn: -sums[turn])[:top_k]
        return Answer(tuple(best), top_score=sums[best[0]] if best else None)
