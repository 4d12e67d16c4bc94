"""A checkout of the project, with its own virtual environment, that an experiment runs."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.client import get
from bench.server import Server, service


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where a version of the project lies; ``make run`` or ``make test`` has made its ``.venv``."""

    root: Path

    @property
    def python(self) -> str:
        """The interpreter of its environment, for code that imports ``app`` of this checkout."""
        return str(self.root / ".venv" / "bin" / "python")

    @property
    def command(self) -> str:
        """Its command line, ``memory-gateway``."""
        return str(self.root / ".venv" / "bin" / "memory-gateway")

    @asynccontextmanager
    async def serve(self, directory: Path, settings: Mapping[str, str]) -> AsyncIterator[Server]:
        """Run its service with these settings, until the block ends; ``directory`` is where it works."""
        async with service(directory, settings, get("/healthz", {}), checkout=self.root) as server:
            yield server
