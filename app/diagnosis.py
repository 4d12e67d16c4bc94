"""What ``doctor`` checks: every part alone, then a memory's whole way."""

from dataclasses import dataclass

from app.errors import MemoryGatewayError
from app.model import NewMemory
from app.runtime import Runtime

_TENANT = "memory-gateway.doctor"
_AGENT = "doctor"
_SENTENCE = "The doctor looks in from time to time."

_ADVICE = {
    "storage_full": "Free some space; the service recovers by itself.",
    "storage_read_only": "Make the data directory writable for this user; the service recovers by itself.",
    "database_unavailable": "Look at DATA_DIR and the rights of this user there.",
    "embedding_unavailable": "Look at the model's directory (LOCAL_MODEL_DIR).",
    "embedding_config_mismatch": "Start with the embedder the data was made with (EMBEDDER, LOCAL_MODEL_DIR).",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at, and what was found or what to do about it."""

    name: str
    ok: bool
    finding: str


async def diagnose(runtime: Runtime) -> list[Check]:
    """Check each part and, where all are well, store, recall and delete a memory of the doctor's own tenant."""
    checks = [
        Check(part.name, part.error is None, part.backend if part.error is None else _advice(part.error))
        for part in await runtime.parts()
    ]
    if all(check.ok for check in checks):
        checks.append(await _round_trip(runtime))
    return checks


async def _round_trip(runtime: Runtime) -> Check:
    name = "store, recall, delete"
    try:
        gateway = runtime.gateway(_TENANT)
        memory_id = await gateway.store(_AGENT, NewMemory(_SENTENCE))
        found = await gateway.recall(_AGENT, _SENTENCE, top_k=1)
        await gateway.delete(_AGENT, memory_id)
        gone = await gateway.recall(_AGENT, _SENTENCE, top_k=1)
    except MemoryGatewayError as error:
        return Check(name, ok=False, finding=_advice(error))
    if [entry.id for entry in found.entries] != [memory_id]:
        return Check(name, ok=False, finding="A memory just stored was not recalled.")
    if gone.entries:
        return Check(name, ok=False, finding="A memory just deleted was recalled.")
    return Check(name, ok=True, finding="a memory went all the way")


def _advice(error: MemoryGatewayError) -> str:
    return f"{error.detail} {_ADVICE.get(error.code, '')}".strip()
