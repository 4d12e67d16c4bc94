"""Bytes that an import writes to the disk, as multiples of the database that it leaves."""

import asyncio
import json
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bench.data import AUTH_SECRETS
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement

_MEMORIES = 20_000
_POLL_SECONDS = 0.05
_WORDS = 8_000
_DISK = Path(__file__).parents[3]
"""Where a file is on a disk: a folder for temporary files may be in memory, to which nothing is written."""


async def measure(checkout: Checkout) -> list[Measurement]:
    """Import 20,000 memories by the command line."""
    return await asyncio.to_thread(_measured, checkout)


def _measured(checkout: Checkout) -> list[Measurement]:
    with tempfile.TemporaryDirectory(dir=_DISK, prefix=".bench-") as folder:
        file = Path(folder, "memories.jsonl")
        file.write_text("\n".join(_memories()), "utf-8")
        written = _imported(checkout, Path(folder), file)
        size = sum(one.stat().st_size for one in Path(folder, "data").glob("memory.sqlite3*"))
    return [Measurement(f"bytes written by an import of {_MEMORIES:,}", "times its file", written / size, "at most 5")]


def _memories() -> Iterator[str]:
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9))) for _ in range(_WORDS)]
    weights = [1 / (rank + 1) for rank in range(_WORDS)]
    for number in range(_MEMORIES):
        text = " ".join(chance.choices(words, weights, k=chance.randint(12, 40)))
        yield json.dumps({"memory": f"{text} number {number}"})


def _imported(checkout: Checkout, folder: Path, file: Path) -> int:
    """Return the bytes that the command has had written, as Linux counts them for the process."""
    settings = {"DATA_DIR": str(folder / "data"), "EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS}
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | settings
    command = (checkout.command, "import", str(file), "--format", "mem0")
    quiet = subprocess.DEVNULL
    written = 0
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=quiet) as process:
        while process.poll() is None:
            with suppress(OSError, KeyError):  # it has ended
                counts = Path(f"/proc/{process.pid}/io").read_text("utf-8")
                written = int(dict(line.split(": ") for line in counts.splitlines())["write_bytes"])
            time.sleep(_POLL_SECONDS)
    if process.returncode != 0:
        raise RuntimeError(f"the import ended with {process.returncode}")
    return written
