"""Servers of this project to measure: an embedder, and settings that leave parts of the recall out."""

import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from app.bootstrap import wall_clock
from app.domain.query import PARTS
from app.services.credentials import Credentials
from app.settings import Settings
from bench.client import HOST, post_json
from bench.data import AUTH_SECRETS, SECRETS
from bench.quality.service import Service
from bench.quality.services.gateway import Gateway
from bench.server import service

SETTING = "RECALL_WITHOUT"
"""The setting that leaves parts of the recall out, separated by commas."""
WHOLE = "whole"
_ROOT = Path(__file__).parents[2]
_TENANT = "quality"
_REQUEST_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to serve the same data: settings that change what a recall does, and nothing that is stored."""

    name: str
    env: Mapping[str, str] = field(default_factory=dict)


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
        *(Variant(f"without {parts.replace(',', ', ')}", {SETTING: parts}) for parts in dict.fromkeys(left_out)),
    ]


def can_leave_out() -> bool:
    """Whether this checkout's service knows the setting; without it every variant would be the whole recall."""
    return SETTING.lower() in Settings.model_fields


@asynccontextmanager
async def serving(data_dir: Path, embedder: str, settings: Mapping[str, str]) -> AsyncIterator[Service]:
    """Serve this checkout's code over a data directory, until the block ends.

    Raises:
        ServerFailed: the server ends or does not answer.
        RequestFailed: its first answer is not a success.
    """
    token = Credentials(SECRETS).issue(_TENANT, now=wall_clock())
    headers = {"Authorization": f"Bearer {token}"}
    first = post_json("/recall", {"agent_id": "first", "query": "are you there?"}, headers)
    own = {"DATA_DIR": str(data_dir), "EMBEDDER": embedder, "AUTH_SECRETS": AUTH_SECRETS, "PYTHONPATH": str(_ROOT)}
    async with (
        service(data_dir, {**settings, **own}, first) as server,
        httpx.AsyncClient(base_url=f"http://{HOST}:{server.port}", timeout=_REQUEST_SECONDS) as client,
    ):
        yield Gateway(client, token)


@asynccontextmanager
async def serving_copy(
    data_dir: Path, embedder: str, settings: Mapping[str, str], variant: Variant
) -> AsyncIterator[Service]:
    """Serve a copy of the data as a variant, so that no variant sees what another one left; raises as ``serving``."""
    copy = data_dir.with_name(f"{data_dir.name}-copy")
    shutil.copytree(data_dir, copy)
    try:
        async with serving(copy, embedder, {**settings, **variant.env}) as served:
            yield served
    finally:
        shutil.rmtree(copy)
