"""Measures services: every one is told the conversations once and asked as often as it has variants."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.quality.asking import Asked, Plan, ask, tell
from bench.quality.dataset import Conversation
from bench.quality.scores import RESAMPLES
from bench.quality.service import Service
from bench.quality.summary import Run, Served, summary
from bench.quality.variants import Variant, serving, serving_copy


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is measured, whichever service."""

    conversations: Sequence[Conversation]
    plan: Plan
    resamples: int = RESAMPLES


async def measure_service(name: str, service: Service, measurement: Measurement) -> Run:
    """Tell a running service everything and ask it; raises ServiceFailed."""
    await _told(name, service, measurement)
    asked, seconds = await _asked(name, service, measurement)
    return summary(Served(name, "", {}, seconds), asked, resamples=measurement.resamples)


async def measure_own(
    embedder: str, variants: Sequence[Variant], settings: Mapping[str, str], measurement: Measurement
) -> list[Run]:
    """Serve this checkout's code with an embedder and measure its variants, the whole recall first.

    Raises:
        ServiceFailed: it refuses what it is told or asked.
        ServerFailed: it does not start.
    """
    runs: list[Run] = []
    whole: list[Asked] = []
    with TemporaryDirectory(prefix="quality-") as directory:
        data_dir = Path(directory) / "data"
        data_dir.mkdir()
        async with serving(data_dir, embedder, settings) as service:
            await _told(embedder, service, measurement)
        for variant in variants:
            async with serving_copy(data_dir, embedder, settings, variant) as service:
                asked, seconds = await _asked(f"{embedder}, {variant.name}", service, measurement)
            served = Served(embedder, variant.name, {"without": variant.without} if variant.without else {}, seconds)
            runs.append(summary(served, asked, whole, resamples=measurement.resamples))
            whole = whole or asked
    return runs


async def _told(name: str, service: Service, measurement: Measurement) -> None:
    started = time.monotonic()
    await tell(service, measurement.conversations, measurement.plan)
    memories = sum(len(conversation.memories) for conversation in measurement.conversations)
    _say(f"{name}: told {memories} memories in {time.monotonic() - started:.0f} s")


async def _asked(name: str, service: Service, measurement: Measurement) -> tuple[list[Asked], float]:
    started = time.monotonic()
    asked = await ask(service, measurement.conversations, measurement.plan)
    seconds = time.monotonic() - started
    _say(f"{name}: asked {len(asked)} questions in {seconds:.0f} s")
    return asked, seconds


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)
