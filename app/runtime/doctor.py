"""Checks every part of the service alone, then stores, recalls and deletes a memory."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig
from app.domain.errors import ConfigurationError, MemoryGatewayError
from app.domain.memory import NewMemory
from app.domain.query import Query
from app.indexing.jobs.rebuild_words import count_missing_words
from app.ports.index_admin import CountsUnreadable
from app.runtime.checks import PartState
from app.runtime.runtime import Runtime
from app.services.access.issuer_keys import IssuerKeys
from app.storage.migrations.runner import applied_migrations
from app.storage.system import outbox_status
from app.storage.system.clock import database_time

_TENANT = "memory-gateway.doctor"
_AGENT = "doctor"
_SENTENCE = "The doctor looks in from time to time."
_MAX_SKEW_MS = 60_000
_REPAIR = "Run: memory-gateway reconcile --repair"

_WITHOUT_MEANING = {"hashing"}
_NO_MEANING = (
    "This embedder compares letters and has no meaning: a memory is found by its words alone. Install the model of "
    "deploy/lock/model.txt, or set EMBEDDER, and move the data with: memory-gateway reembed start"
)
_ADVICE = {
    "storage_full": "Free some space; the service recovers by itself.",
    "storage_read_only": "Make the data directory writable for this user; the service recovers by itself.",
    "database_unavailable": "Embedded: look at DATA_DIR and the rights of this user there. On Cloudflare: at the "
    "D1 database's id.",
    "database_rejected": "The schema is not what the migrations make. Set the database back to a state before it was "
    "changed, as deploy/README.md says at its end.",
    "embedding_unavailable": "Look at the model's directory (LOCAL_MODEL_DIR).",
    "embedding_config_mismatch": "Start with the embedder the data was made with (EMBEDDER, EMBEDDING_MODEL).",
    "index_not_provisioned": "See deploy/README.md, Provision.",
    "rate_limited": "Wait as told; then lower the load or ask Cloudflare for more.",
    "cloudflare_blocks": "Wait as told; something else spends this account's API calls: scripts, or the dashboard.",
    "upstream_unavailable": "Check the network, the base URLs and the provider's status page.",
    "upstream_overloaded": "Wait; then lower the load.",
    "upstream_timeout": "Check the network and the provider's status page.",
    "upstream_rejected": "Check the base URLs and the model's name.",
    "quota_exhausted": "Add credit, or choose a larger plan.",
    "upstream_credentials_refused": "Make a new token or key with the permissions of deploy/README.md.",
    "configuration_error": "Set this machine's clock by NTP.",
    "shard_unavailable": "Its tenants are refused until it works, all others are served; the service tries it again by "
    "itself.",
    "schema_too_new": "Run the newer version of this service.",
}


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: ``finding`` is the state of the part, or an error with its cure."""

    name: str
    ok: bool
    finding: str
    warning: bool = False
    """Whether the part works, but in a state that operators should know of."""


async def diagnose(runtime: Runtime, parts: Sequence[PartState] | None = None) -> list[Check]:
    """Check each part; if all parts that this runtime needs work, store, recall and delete a memory of a test tenant.

    ``parts`` are the parts of all shards; None: the parts of this shard are checked.
    """
    parts = [
        *(await runtime.checks.parts() if parts is None else parts),
        *await runtime.checks.language_model(),
        await runtime.checks.blobs(),
    ]
    ready = all(part.error is None or part.needed_by != "all" for part in parts)
    deeper: list[tuple[str, Callable[[Runtime], Awaitable[str]]]] = [
        ("migrations", _migrations),
        ("index made for this service", _index),
        ("clock", _clock),
        ("index of words", _words),
        ("vectors", _vectors),
    ]
    looks = [await _check(name, runtime, look) for name, look in deeper]
    if ready and all(check.ok for check in looks):
        looks.append(await _check("store, recall, delete", runtime, _round_trip))
    if runtime.backends.issuers is not None:
        looks.extend([await _issuer(name, keys) for name, keys in runtime.backends.issuers.all_keys()])
    return [*(_look_at(part, runtime.config) for part in parts), *looks]


def _look_at(part: PartState, config: EmbeddingConfig) -> Check:
    if part.error is not None:
        bearable = part.needed_by == "none"
        return Check(part.name, ok=bearable, finding=_advice(part.error), warning=bearable)
    if part.notice is not None:
        return Check(part.name, ok=True, finding=part.notice, warning=True)
    if part.name != "embedder":
        return Check(part.name, ok=True, finding=part.backend)
    if config.provider in _WITHOUT_MEANING:
        return Check(part.name, ok=True, finding=f"{config}. {_NO_MEANING}", warning=True)
    return Check(part.name, ok=True, finding=str(config))


async def _check(name: str, runtime: Runtime, look: Callable[[Runtime], Awaitable[str]]) -> Check:
    try:
        return Check(name, ok=True, finding=await look(runtime))
    except MemoryGatewayError as error:
        return Check(name, ok=False, finding=_advice(error))


async def _issuer(name: str, keys: IssuerKeys) -> Check:
    """Read an issuer's document, which has to name the issuer of the settings, and its keys."""
    url = keys.issuer.url
    try:
        count = await keys.check()
    except MemoryGatewayError as error:
        setting = "OIDC_ISSUER" if name == "issuer" else "CF_ACCESS_TEAM_DOMAIN"
        cure = f"Until it answers, its tokens get 503 unless their keys are known. Check {setting} and the network."
        return Check(name, ok=False, finding=f"{url}: {error.detail} {cure}")
    if not count:
        cure = "Every token of it is refused. Check OIDC_ALGORITHMS."
        return Check(name, ok=False, finding=f"{url} has no key of the set algorithms. {cure}")
    return Check(name, ok=True, finding=f"{url}, {count} keys")


async def _migrations(runtime: Runtime) -> str:
    return f"{len(await applied_migrations(runtime.backends.database))} applied"


async def _index(runtime: Runtime) -> str:
    await runtime.prepare_index(runtime.config)
    return f"{runtime.config.dimensions} dimensions, and every filter it needs"


async def _clock(runtime: Runtime) -> str:
    """Compare this machine's clock with the database's: credentials and timestamps depend on it."""
    skew = runtime.backends.clock() - await database_time(runtime.backends.database)
    if abs(skew) > _MAX_SKEW_MS:
        raise ConfigurationError(f"This machine's clock is {skew / 1000:.0f} s off the database's.")
    return f"within {_MAX_SKEW_MS // 1000} s of the database's"


async def _words(runtime: Runtime) -> str:
    missing = await count_missing_words(runtime.backends.database.run)
    if missing:
        raise MemoryGatewayError(f"{missing} memories are missing in it, and are not found by their words. {_REPAIR}")
    return "it has all memories"


async def _vectors(runtime: Runtime) -> str:
    """Count the vectors that are damaged, in the index and in the outbox."""
    config = runtime.config
    ((row,),) = await runtime.backends.database.run([outbox_status.read_unreadable(config)])
    unreadable, index = int(str(row["unreadable"])), runtime.backends.index_of(config)
    if isinstance(index, CountsUnreadable):
        unreadable += await index.count_unreadable()
    if unreadable:
        raise MemoryGatewayError(f"{unreadable} vectors are damaged, and recalls leave them out. {_REPAIR}")
    return "none is damaged"


async def _round_trip(runtime: Runtime) -> str:
    gateway = runtime.services(_TENANT).gateway
    memory_id = await gateway.store(_AGENT, NewMemory(_SENTENCE))
    found = await gateway.recall(_AGENT, Query(_SENTENCE, top_k=1))
    await gateway.delete(_AGENT, memory_id)
    gone = await gateway.recall(_AGENT, Query(_SENTENCE, top_k=1))
    if [entry.id for entry in found.entries] != [memory_id]:
        raise MemoryGatewayError("A memory just stored was not recalled.")
    if gone.entries:
        raise MemoryGatewayError("A memory just deleted was recalled.")
    return "a memory went all the way"


def _advice(error: MemoryGatewayError) -> str:
    """Return the error's detail with its cure: the error's own cure, or else the advice for its code."""
    return error.detail if error.cure is not None else f"{error.detail} {_ADVICE.get(error.code, '')}".strip()
