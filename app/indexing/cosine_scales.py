"""Measures where the cosines of an embedding config lie, and keeps the scale with the config.

A cosine of 0.5 says "the same subject" with one model and nothing at all with another. So questions and their answers
are embedded with each config. The cosines of questions with their own answers, and with the answers to other questions,
are the scale on which recalls read the config's cosines (docs/retrieval.md).
"""

import asyncio
import hashlib
import json
from contextlib import suppress

import numpy as np
import structlog

from app.domain.embedding import USUAL_SCALE, CosineScale, EmbeddingConfig
from app.domain.errors import MemoryGatewayError
from app.ports.database import Database
from app.ports.embedder import Embedder
from app.storage import cosine_scales

PROBES: tuple[tuple[str, str], ...] = (
    ("Where does Tom live?", "Tom's flat is in Lisbon, near the river."),
    ("What should I not cook for Maria?", "Maria is allergic to peanuts."),
    ("Which port does the staging database use?", "Postgres on staging listens on 5433."),
    ("When is the dentist?", "Appointment with Dr Silva for the teeth: Tuesday at nine."),
    ("What is the dog called?", "We adopted a terrier named Biscuit."),
    ("How do I run the unit tests?", "pytest -q tests/unit runs the quick checks."),
    ("How does she like her coffee?", "Prefers espresso without sugar."),
    ("What is our refund policy?", "Customers get their money back within 30 days."),
    ("Who leads the design team?", "Priya is head of design since June."),
    ("Which car do they drive?", "The family has a blue Volvo estate."),
    ("How old is his son?", "Leo turned seven last spring."),
    ("What was decided about the office move?", "The lease in Berlin will be signed; the move is in October."),
    ("What is the invoice number for the chairs?", "Chairs from Nordform: bill 2291, paid."),
    ("Which language does the customer want?", "Please write to Mr Tanaka in Japanese."),
    ("What music does he like?", "Listens to Bach while working."),
    ("Why did the deploy fail?", "The release broke because a migration timed out."),
    ("Where are the spare keys?", "A second set of keys hangs behind the boiler."),
    ("What did the doctor say about the knee?", "No running for six weeks, said the physician."),
    ("How much may the trip cost?", "Travel budget: at most 800 euros."),
    ("What is her favourite book?", "She has read Middlemarch four times and loves it."),
)
"""Questions, each with a memory that answers this question and no other. The memories are short, as most are."""


_AGAIN_SECONDS = 60.0
"""How long a config is not measured again after a failure."""


class CosineScales:
    """The scale of each embedding config, from memory, from the database, or measured.

    No recall waits for a measurement: until there is a scale, ``USUAL_SCALE`` is assumed.
    """

    def __init__(self, database: Database, *, query_prefix: str = "") -> None:
        """Take the database of the scales, and the prefix of embedded queries, since the prefix moves the cosines."""
        self._database = database
        self._known: dict[EmbeddingConfig, CosineScale] = {}
        self._tried: dict[EmbeddingConfig, float] = {}
        self._under_way: set[asyncio.Task[None]] = set()
        self._probes = hashlib.sha256(json.dumps([PROBES, query_prefix]).encode()).hexdigest()[:16]

    def of(self, config: EmbeddingConfig, embedder: Embedder) -> CosineScale:
        """Return the config's scale, or the usual one where it is not known yet: its measurement is then begun."""
        if config not in self._known and not self._under_way and self._may_try(config):
            task = asyncio.create_task(self.find(config, embedder), name="cosine-scale")
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        return self._known.get(config, USUAL_SCALE)

    async def find(self, config: EmbeddingConfig, embedder: Embedder) -> None:
        """Read the config's scale, or measure and keep it; a failure is logged, and another attempt comes later."""
        self._tried[config] = asyncio.get_running_loop().time()
        try:
            (rows,) = await self._database.run([cosine_scales.read(config, self._probes)])
            kept = cosine_scales.scale_of(rows)
            self._known[config] = kept or await measure(embedder)
            if kept is None:
                await self._database.run([cosine_scales.write(config, self._probes, self._known[config])])
        except MemoryGatewayError as error:
            structlog.get_logger().warning("cosine_scale_failed", config=str(config), reason=error.detail)

    async def close(self) -> None:
        """Stop the measurement that is under way."""
        for task in tuple(self._under_way):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _may_try(self, config: EmbeddingConfig) -> bool:
        tried = self._tried.get(config)
        return tried is None or asyncio.get_running_loop().time() - tried > _AGAIN_SECONDS


async def measure(embedder: Embedder) -> CosineScale:
    """Return the scale of an embedder's cosines.

    Raises:
        Unavailable: the embedder does not answer.
    """
    questions = (await embedder.embed([question for question, _ in PROBES], "query")).vectors
    answers = (await embedder.embed([answer for _, answer in PROBES], "document")).vectors
    cosines = np.stack(questions) @ np.stack(answers).T
    own = np.eye(len(PROBES), dtype=bool)
    unrelated = cosines[~own]
    return CosineScale(float(unrelated.mean()), float(unrelated.std()), float(cosines[own].mean()))
