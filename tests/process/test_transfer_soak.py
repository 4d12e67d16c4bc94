"""How much of a process a large transfer takes, and how long it lasts; SOAK_TRANSFER says of how many memories."""

import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from app.services.transfer.record import Record
from tests.services.transfer.corpus import file_of

MEMORIES = int(os.environ.get("SOAK_TRANSFER", "0"))
EXPORTED, IMPORTED = 5_000, 2_000
"""Lines a second, the start of the process left out."""
RESIDENT_MB = 150

_RUN = """
import re, sys, time
from app.interfaces.cli import main
started = time.monotonic()
sys.argv[0] = "memory-gateway"
try:
    main()
finally:
    with open("/proc/self/status") as status:  # a process inherits ru_maxrss from whoever started it
        resident = int(re.search(r"VmHWM:\\s+([0-9]+)", status.read())[1]) // 1024
    print(f"took {time.monotonic() - started} {resident}", file=sys.stderr)
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a command took."""

    seconds: float
    resident_mb: int

    @property
    def rate(self) -> float:
        return MEMORIES / self.seconds


def command(data_dir: Path, *arguments: str) -> Figures:
    """Run a command in a process of its own."""
    environment = os.environ | {"DATA_DIR": str(data_dir), "EMBEDDER": "hashing", "READER": "none"}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    _, seconds, resident = done.stderr.splitlines()[-1].split()
    return Figures(float(seconds), int(resident))


def corpus() -> bytes:
    """So many memories of ten agents, 150 to 250 characters each."""
    dice = random.Random(1)
    words = [f"word{n}" for n in range(5000)]
    return file_of(
        [
            Record(
                agent_id=f"agent{n % 10}",
                content=f"{' '.join(dice.choices(words, k=25))} {n}",
                metadata={"n": n, "source": "soak"},
                id=f"01K{n:023d}",
                created_at=1_700_000_000_000 + n * 1000,
            )
            for n in range(MEMORIES)
        ],
        "default",
    )


def test_a_large_transfer_keeps_its_pace_and_its_memory(tmp_path: Path) -> None:
    given, plain, carried = (tmp_path / name for name in ("given", "plain", "carried"))
    given.write_bytes(corpus())
    source, target = tmp_path / "source", tmp_path / "target"
    began = time.monotonic()
    figures = {
        "import, embedding": (command(source, "import", str(given)), IMPORTED),
        "export": (command(source, "export", "-o", str(plain)), EXPORTED),
        "export with vectors": (command(source, "export", "--vectors", "-o", str(carried)), 0),
        "import again": (command(source, "import", str(given)), IMPORTED),
        "import with vectors": (command(target, "import", str(carried)), IMPORTED),
        "verify": (command(target, "verify", str(carried)), 0),
    }
    for what, (found, _) in figures.items():
        print(f"{what}: {found.rate:.0f} lines/s, {found.resident_mb} MB resident")  # noqa: T201 - figures to read
    print(f"{time.monotonic() - began:.0f} s in all")  # noqa: T201 - the same
    assert plain.read_bytes().splitlines()[1:] == given.read_bytes().splitlines()[1:]
    assert [what for what, (found, least) in figures.items() if found.rate < least] == []
    assert [what for what, (found, _) in figures.items() if found.resident_mb >= RESIDENT_MB] == []
