"""What is left of erased words, and what works while the index of words or of vectors is damaged."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import httpx

from bench.client import HOST
from bench.data import AUTH_SECRETS, credential, one_agent
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement

_ERASED = tuple(f"zq{number:02}xerasedword" for number in range(40))
_MEMORIES, _RECALLS, _DELETES, _OTHERS = 50, 40, 10, 60
_LOOKS, _COMMAND_SECONDS = 150, 60.0
_DAMAGES: Mapping[str, tuple[str, ...]] = {
    "damaged blocks": ("UPDATE memory_words_data SET block = zeroblob(length(block)) WHERE id > 10",),
    "emptied words' index": ("INSERT INTO memory_words (memory_words) VALUES ('delete-all')",),
    "one cut vector": (
        "UPDATE local_vector SET vector = substr(vector, 1, 10) WHERE number = (SELECT min(number) FROM local_vector)",
    ),
}


async def measure(checkout: Checkout) -> list[Measurement]:
    """Count words in raw bytes after a receipt, and answers and exit codes in each state of damage."""
    served, stopped = await _erased(checkout)
    figures = [
        Measurement("words of an erased agent in the files, after the receipt", "of 40 words", served, "0"),
        Measurement("the same, after the service was stopped", "of 40 words", stopped, "0"),
    ]
    for name, damage in _DAMAGES.items():
        recalls, deletes, before, repaired = await _damaged(checkout, damage)
        figures += [
            Measurement(f"{name}: recalls answered", f"of {_RECALLS}", recalls, str(_RECALLS)),
            Measurement(f"{name}: deletes of older memories answered", f"of {_DELETES}", deletes, str(_DELETES)),
            Measurement(f"{name}: exit code of doctor", "exit code", before, "1"),
            Measurement(f"{name}: that after reconcile --repair", "exit code", repaired, "0"),
        ]
    return figures


async def _erased(checkout: Checkout) -> tuple[int, int]:
    with tempfile.TemporaryDirectory() as folder:
        async with _served(checkout, folder) as client:
            for number in range(_OTHERS):
                await _store(client, "assistant", f"The {number}th delivery went to the harbour on time")
            for word in _ERASED:
                await _store(client, "erased", f"Nobody but this agent knows of {word}")
            operation = (await client.delete("/agents/erased")).json()["id"]
            for _ in range(_LOOKS):
                if (await client.get(f"/operations/{operation}")).json()["status"] == "done":
                    break
                await asyncio.sleep(0.2)
            served = _words_in(Path(folder))
        return served, _words_in(Path(folder))


def _words_in(folder: Path) -> int:
    held = b"\n".join(path.read_bytes().lower() for path in folder.rglob("*") if path.is_file())
    return sum(word.encode() in held for word in _ERASED)


async def _damaged(checkout: Checkout, damage: tuple[str, ...]) -> tuple[int, int, int, int]:
    """Return how many recalls and deletes were answered, and the exit codes of doctor before and after a repair."""
    with tempfile.TemporaryDirectory() as folder:
        async with _served(checkout, folder) as client:
            for number in range(_MEMORIES):
                await _store(client, "assistant", f"Delivery {number} reached the harbour")
            listed = await client.get("/memories", params={"agent_id": "assistant", "limit": _MEMORIES})
            ids = [str(memory["id"]) for memory in listed.json()["memories"]]
        _change(Path(folder), damage)
        before = await _run(checkout, folder, "doctor")
        async with _served(checkout, folder) as client:
            deleted = [await _delete(client, id_) for id_ in ids[-_DELETES - 1 : -1]]
            answers = [await client.post("/recall", json=_recall(number)) for number in range(_RECALLS)]
        _change(Path(folder), damage)
        await _run(checkout, folder, "reconcile", "--repair")
        after = await _run(checkout, folder, "doctor")
    return sum(map(_answered, answers)), sum(map(_answered, deleted)), before, after


def _answered(answer: httpx.Response) -> bool:
    return answer.is_success


async def _delete(client: httpx.AsyncClient, id_: str) -> httpx.Response:
    return await client.delete(f"/memories/{id_}", params={"agent_id": "assistant"})


def _recall(number: int) -> dict[str, object]:
    return {"agent_id": "assistant", "query": f"which delivery {number} reached the harbour?"}


async def _store(client: httpx.AsyncClient, agent: str, content: str) -> None:
    answer = await client.post("/store", json={"agent_id": agent, "content": content})
    answer.raise_for_status()


@asynccontextmanager
async def _served(checkout: Checkout, folder: str) -> AsyncIterator[httpx.AsyncClient]:
    (scope,) = one_agent()
    settings = {"DATA_DIR": folder, "EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS}
    async with (
        checkout.serve(Path(folder), settings) as server,
        httpx.AsyncClient(
            base_url=f"http://{HOST}:{server.port}", headers=credential(scope, admin=True), trust_env=False, timeout=30
        ) as client,
    ):
        yield client


def _change(folder: Path, statements: tuple[str, ...]) -> None:
    connection = apsw.Connection(str(folder / "memory.sqlite3"))
    for statement in statements:
        connection.execute(statement)
    connection.close()


async def _run(checkout: Checkout, folder: str, *arguments: str) -> int:
    """Run a command, and return its exit code."""
    settings = {"DATA_DIR": folder, "EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS, "PATH": os.environ["PATH"]}
    process = await asyncio.create_subprocess_exec(
        checkout.command,
        *arguments,
        cwd=folder,
        env=settings,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(_COMMAND_SECONDS):
        return await process.wait()
