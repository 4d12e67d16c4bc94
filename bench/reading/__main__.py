"""Measures what a service understands of pairs of statements and of scenes: ``python -m bench.reading --help``."""

import asyncio
import json
import time
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.client import get
from bench.data import AUTH_SECRETS
from bench.reading import pairs, scenes
from bench.reading.asking import Asking
from bench.report import RESULTS, aligned, circumstances
from bench.server import service

_HERE = Path(__file__).parents[2]
_SEALED = _HERE / "training" / "reader" / "sealed"
_UNLIMITED = {f"{of}_{what}_PER_MINUTE": "1000000" for of in ("TENANT", "AGENT") for what in ("STORES", "RECALLS")}


def main() -> None:
    """Measure with each reader, and write the table."""
    parser = ArgumentParser(prog="python -m bench.reading", description=__doc__)
    parser.add_argument("--scenes", type=Path, default=_SEALED, help="a folder; the sealed ones are looked at once")
    parser.add_argument("--reader", action="append", help="READER of a server; several are compared [none, local]")
    parser.add_argument(
        "--checkout", type=Path, default=_HERE, help="measure another checkout, with a .venv of its own"
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "reading.md")
    given = parser.parse_args()
    started = time.monotonic()
    columns = {
        name: asyncio.run(_measured(name, given.scenes, given.checkout)) for name in given.reader or ["none", "local"]
    }
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    rows = [("figure", *columns), *((name, *(column.get(name, "") for column in columns.values())) for name in names)]
    table = aligned(rows)
    print(table)
    facts = "\n".join(f"- {name}: {value}" for name, value in circumstances(time.monotonic() - started).items())
    given.out.write_text(f"# What the reader understands, over HTTP\n\n{table}\n\n{facts}\n", "utf-8")
    given.out.with_suffix(".json").write_text(json.dumps(columns, indent=1) + "\n", "utf-8")


async def _measured(reader: str, folder: Path, checkout: Path) -> dict[str, str]:
    with TemporaryDirectory(prefix="reading-") as directory:
        settings = {
            "DATA_DIR": directory,
            "EMBEDDER": "local",
            "AUTH_SECRETS": AUTH_SECRETS,
            "READER": reader,
            **_UNLIMITED,
        }
        async with service(Path(directory), settings, get("/healthz", {}), checkout=checkout) as server:
            asking = Asking(server.port)
            try:
                found = {name: f"{100 * count / of:.1f} % of {of}" for name, count, of in await pairs.measure(asking)}
                for language, rows in (await scenes.measure(asking, folder)).items():
                    found |= {f"scenes, {language}: {name}": value for name, value in rows}
            finally:
                await asking.close()
    return found


if __name__ == "__main__":
    main()
