"""Which commands work over the edge, and which need the REST API (deploy/edge/README.md)."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.edge import ACCOUNT_ID, SECRET, Edge
from tests.process.server import run

Command = Callable[..., "subprocess.CompletedProcess[str]"]
_NO_WAIT = ("--poll-seconds", "0")


@pytest.fixture(scope="module")
def command(edge: Edge, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Run a command behind the public Worker, on data that it has brought up to date."""
    slot, folder = edge.slot(), tmp_path_factory.mktemp("commands")
    settings = {
        "CLOUDFLARE_ACCOUNT_ID": ACCOUNT_ID,
        "CLOUDFLARE_API_TOKEN": SECRET,
        "CLOUDFLARE_API_BASE_URL": edge.base_url("worker", slot),
        "CLOUDFLARE_D1_DATABASE_ID": slot.database_id,
    }

    def run_one(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return run(Path(folder) / "data", *arguments, **settings)

    assert run_one("migrate").returncode == 0
    assert run_one("store", "a fox").returncode == 0
    return run_one


@pytest.mark.parametrize(
    "arguments",
    [
        ("provision",),
        ("reconcile",),
        ("rebuild", "--yes", *_NO_WAIT),
        ("reembed", "start", *_NO_WAIT),
        ("shard", "add", "east", *_NO_WAIT),
    ],
    ids=" ".join,
)
def test_what_creates_or_lists_is_refused_and_says_where_to_read(command: Command, arguments: tuple[str, ...]) -> None:
    done = command(*arguments)
    assert done.returncode == 1
    assert "deploy/edge/README.md" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("doctor",),
        ("recall", "fox"),
        ("export", "--vectors"),
        ("prune",),
        ("outbox", "list"),
        ("shard", "list"),
    ],
    ids=" ".join,
)
def test_what_does_neither_works(command: Command, arguments: tuple[str, ...]) -> None:
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
