"""Servers of this project to measure: an embedder, and the parts of the recall that are left out."""

import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import httpx

from app.domain.moments import wall_clock
from app.services.access.credentials import Credentials
from bench.ablation import PARTS
from bench.client import HOST, post_json
from bench.data import AUTH_SECRETS, SECRETS
from bench.quality.service import Service
from bench.quality.services.gateway import Gateway
from bench.server import LONGEST_WORK_SECONDS, service

Make: TypeAlias = Callable[[httpx.AsyncClient, str], Service]
WHOLE = "whole"
_TENANT = "quality"
_REQUEST_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to serve the same data, which changes what a recall does and nothing that is stored."""

    name: str
    without: str = ""
    """The parts of the recall that are left out, separated by commas."""


def variants(*, ablate: bool, without: Sequence[str]) -> list[Variant]:
    """Return the whole recall, then each part left out where that is asked for, then what is named to leave out.

    Raises:
        ValueError: a name is not one of ``PARTS``.
    """
    left_out = [*(PARTS if ablate else ()), *without]
    unknown = sorted({part for parts in left_out for part in parts.split(",")} - set(PARTS))
    if unknown:
        raise ValueError(f"{', '.join(unknown)} cannot be left out; there are {', '.join(PARTS)}")
    return [
        Variant(WHOLE),
        *(Variant(f"without {parts.replace(',', ', ')}", parts) for parts in dict.fromkeys(left_out)),
    ]


@asynccontextmanager
async def serving(
    data_dir: Path,
    embedder: str,
    settings: Mapping[str, str],
    *,
    without: str = "",
    make: Make = Gateway,
    longest: float = LONGEST_WORK_SECONDS,
) -> AsyncIterator[Service]:
    """Serve this checkout's code over a data directory, until the block ends; ``make`` says how it is told and asked.

    When the block ends the server may work in the background for so many seconds before it is stopped.

    Raises:
        ServerFailed: the server ends or does not answer.
        RequestFailed: its first answer is not a success.
    """
    token = Credentials(SECRETS).issue(_TENANT, now=wall_clock())
    headers = {"Authorization": f"Bearer {token}"}
    first = post_json("/recall", {"agent_id": "first", "query": "are you there?"}, headers)
    own = {"DATA_DIR": str(data_dir), "EMBEDDER": embedder, "AUTH_SECRETS": AUTH_SECRETS}
    async with (
        service(data_dir, {**settings, **own}, first, without=without) as server,
        httpx.AsyncClient(base_url=f"http://{HOST}:{server.port}", timeout=_REQUEST_SECONDS) as client,
    ):
        yield make(client, token)
        await server.rest(longest=longest)  # what was stored is read before the data are copied


@asynccontextmanager
async def serving_copy(
    data_dir: Path, embedder: str, settings: Mapping[str, str], variant: Variant, make: Make = Gateway
) -> AsyncIterator[Service]:
    """Serve a copy of the data as a variant, so that no variant sees what another one left; raises as ``serving``."""
    copy = data_dir.with_name(f"{data_dir.name}-copy")
    shutil.copytree(data_dir, copy)
    try:
        async with serving(copy, embedder, settings, without=variant.without, make=make) as served:
            yield served
    finally:
        shutil.rmtree(copy)
