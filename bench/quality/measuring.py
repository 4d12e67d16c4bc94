"""Measures services: every one is told the conversations once and asked as often as it has variants."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.quality.asking import Asked, Plan, ask, tell
from bench.quality.dataset import Conversation
from bench.quality.scores import RESAMPLES
from bench.quality.service import Service
from bench.quality.services.bm25 import Bm25
from bench.quality.services.gateway import Gateway
from bench.quality.services.ingesting import Ingesting, Turns
from bench.quality.summary import Run, Served, summary
from bench.quality.variants import Make, Variant, serving, serving_copy

TOLD_WHEN = "with reference_time"
READER = "READER"
"""The setting of own servers that their name tells."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is measured, whichever service."""

    conversations: Sequence[Conversation]
    plan: Plan
    resamples: int = RESAMPLES
    ingests: bool = False
    """Whether own servers are told the conversations by ingesting them, and not turn by turn."""


async def measure_service(name: str, service: Service, measurement: Measurement) -> Run:
    """Tell a running service everything and ask it; raises ServiceFailed."""
    between = await _told(name, service, measurement)
    asked, seconds = await _asked(name, service, measurement)
    return summary(Served(name, "", {}, seconds), [*between, *asked], resamples=measurement.resamples)


async def measure_own(
    embedder: str, variants: Sequence[Variant], settings: Mapping[str, str], measurement: Measurement
) -> list[Run]:
    """Serve this checkout's code with an embedder and measure its variants, the whole recall first.

    Questions that are asked while a conversation is told are answered by the whole recall alone: the variants serve
    what has been told to its end.

    Raises:
        ServiceFailed: it refuses what it is told or asked.
        ServerFailed: it does not start.
    """
    runs: list[Run] = []
    whole: list[Asked] = []
    name = f"{embedder}, READER={settings[READER]}" if READER in settings else embedder
    with TemporaryDirectory(prefix="quality-") as directory:
        data_dir = Path(directory) / "data"
        data_dir.mkdir()
        turns = Turns()
        make: Make = (lambda client, token: Ingesting(client, token, turns)) if measurement.ingests else Gateway
        async with serving(data_dir, embedder, settings, make=make) as service:
            between = await _told(name, service, measurement)
        dated = _of_known_time(measurement)
        for variant in variants:
            async with serving_copy(data_dir, embedder, settings, variant, make) as service:
                asked, seconds = await _asked(f"{name}, {variant.name}", service, measurement)
            served = Served(name, variant.name, {"without": variant.without} if variant.without else {}, seconds)
            asked = asked if whole else [*between, *asked]
            runs.append(summary(served, asked, whole, resamples=measurement.resamples))
            whole = whole or asked
        if dated is not None:
            async with serving_copy(data_dir, embedder, settings, Variant(TOLD_WHEN), make) as service:
                asked, seconds = await _asked(f"{name}, {TOLD_WHEN}", service, dated)
            runs.append(summary(Served(name, TOLD_WHEN, {}, seconds), asked, resamples=measurement.resamples))
    return runs


async def measure_bm25(measurement: Measurement) -> Run:
    """Measure plain BM25 over the same data."""
    return await measure_service("bm25", Bm25(), measurement)


async def _told(name: str, service: Service, measurement: Measurement) -> list[Asked]:
    started = time.monotonic()
    between = await tell(service, measurement.conversations, measurement.plan)
    memories = sum(len(conversation.memories) for conversation in measurement.conversations)
    asked = f", and asked {len(between)} questions in between," if between else ""
    say(f"{name}: told {memories} memories{asked} in {time.monotonic() - started:.0f} s")
    return between


def _of_known_time(measurement: Measurement) -> Measurement | None:
    """Return what is measured again with the time of asking told; None where no data say it."""
    known = [conversation for conversation in measurement.conversations if conversation.asked_at is not None]
    return replace(measurement, conversations=known, plan=replace(measurement.plan, told_when=True)) if known else None


async def _asked(name: str, service: Service, measurement: Measurement) -> tuple[list[Asked], float]:
    started = time.monotonic()
    asked = await ask(service, measurement.conversations, measurement.plan)
    seconds = time.monotonic() - started
    say(f"{name}: asked {len(asked)} questions in {seconds:.0f} s")
    return asked, seconds


def say(what: str) -> None:
    """Tell how far a measurement is."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)
