"""Administrative acts: what administrators and operators do to a tenant's data, beside storing and recalling."""

import hmac
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

from app.domain.json_types import Json

ActName: TypeAlias = Literal[
    "access",
    "acts.export",
    "agent.erase",
    "agent.set",
    "archive.read",
    "archive.restore",
    "backup",
    "blob.delete",
    "canary.plant",
    "canary.remove",
    "configuration.put",
    "consolidation.forecast",
    "consolidation.run",
    "consolidation.undo",
    "context.delete",
    "context.put",
    "credential.mint",
    "credential.revoke",
    "credential.undo",
    "golden.keep",
    "golden.remove",
    "index.rebuild",
    "index.repair",
    "memories.delete",
    "memories.export",
    "memories.import",
    "memory.change",
    "memory.delete",
    "migrate",
    "namespace.create",
    "namespace.delete",
    "outbox.drop",
    "outbox.retry",
    "profile.erase",
    "prune",
    "quota.clear",
    "quota.set",
    "reembed.drop",
    "reembed.rollback",
    "reembed.start",
    "reembed.switch",
    "session.delete",
    "shard.add",
    "snapshot.make",
    "snapshot.restore",
    "taught.undo",
    "tenant.erase",
    "tenant.move",
    "vacuum",
    "workflow.delete",
    "workflow.put",
    "workflow.restore",
]
"""The names of acts: a subject and a verb.

``access`` stands for attempts alone: a request that was refused before it was known which act it was, or that was for
no administrative act.
"""
ACTS: frozenset[ActName] = frozenset(get_args(ActName))
"""All names of acts."""
ActOutcome: TypeAlias = Literal["begun", "done", "failed", "refused"]
"""How an act ended; ``begun`` has not ended, or its process was killed before it wrote the end."""
OUTCOMES: frozenset[ActOutcome] = frozenset(get_args(ActOutcome))
"""All outcomes."""
DEPLOYMENT = ""
"""Stands in place of a tenant for the acts that concern all tenants; no tenant has this id."""
PURPOSE = "memory-gateway signature of an administrative act, 1"
"""What the keys are for that sign acts."""
_MOST_IDS, _MOST_COUNTS = 12, 24
_NAME = re.compile(r"[A-Za-z0-9._:/-]{1,128}")
"""The form of ids and of names that are parts of paths: no sentence has it."""


@dataclass(frozen=True, slots=True)
class Act:
    """An administrative act as its row tells of it, or attempts of one credential that were refused.

    Attributes:
        number: The acts of a tenant are numbered from 1 in the order of their rows, without gaps; 0: it has no row.
        code: The code of the error in which the act ended.
        channel: One of ``WriteChannel``.
        operator: The operating system's name of who ran a command.
        subject: The ids of what the act is about, by the names of the fields; null for one that has not an id's form.
        counts: How many things it concerned, by their names.
        attempts: How many attempts the row stands for; 1 for an act.
        begun_at: When it began, in ms since the epoch by the database's clock; of attempts the first.
        ended_at: When it ended; of attempts the last.
        signature: See ``signed``; None while the act has not ended.
    """

    id: str
    act: str
    number: int = 0
    outcome: str = "begun"
    code: str | None = None
    channel: str = "command"
    credential_id: str | None = None
    operator: str | None = None
    request_id: str | None = None
    subject: Mapping[str, Json] = field(default_factory=dict)
    counts: Mapping[str, Json] = field(default_factory=dict)
    attempts: int = 1
    begun_at: int = 0
    ended_at: int | None = None
    signature: str | None = None

    def signed(self, key: bytes, tenant_id: str) -> "Act":
        """Return the act with its signature by a key: over the tenant and every other field."""
        return replace(self, signature=self._signature(key, tenant_id))

    def is_signed(self, keys: Iterable[bytes], tenant_id: str) -> bool:
        """Tell whether the signature is by one of the keys."""
        return any(hmac.compare_digest(self._signature(key, tenant_id), self.signature or "") for key in keys)

    def counted(self, key: bytes, tenant_id: str) -> "Act":
        """Return attempts with a signature that stays the same while they are counted on."""
        return replace(self, signature=self._uncounted().signed(key, tenant_id).signature)

    def is_counted(self, keys: Iterable[bytes], tenant_id: str) -> bool:
        """Tell whether these are attempts whose signature is by one of the keys."""
        return self.outcome == "refused" and replace(self._uncounted(), signature=self.signature).is_signed(
            keys, tenant_id
        )

    def _uncounted(self) -> "Act":
        """Return the fields of attempts that stay the same."""
        return replace(self, number=0, attempts=0, begun_at=0, ended_at=None)

    def _signature(self, key: bytes, tenant_id: str) -> str:
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "signature"}
        signed = json.dumps({**fields, "tenant_id": tenant_id}, sort_keys=True, default=dict)
        return hmac.new(key, signed.encode(errors="surrogatepass"), "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class ActFilter:
    """The conditions on acts that a listing returns; None sets no condition. The bounds of time are exclusive."""

    act: str | None = None
    credential_id: str | None = None
    outcome: str | None = None
    after: int | None = None
    before: int | None = None


def subject_of(named: Mapping[str, object]) -> dict[str, Json]:
    """Return the ids of an act's subject: of a value that has not an id's form, only that it was named is kept.

    What is given in place of an id may be any text, and no free text is kept.
    """
    given = [(name, value) for name, value in named.items() if value is not None][:_MOST_IDS]
    return {name: str(value) if _NAME.fullmatch(str(value)) else None for name, value in given}


def counts_of(counted: Mapping[str, object]) -> dict[str, Json]:
    """Return those of the values that count something: whole numbers, no moments; and with 1 that it was a dry run."""
    found = [
        (name, int(value))
        for name, value in counted.items()
        if isinstance(value, int)
        and (name == "dry_run" or not isinstance(value, bool))
        and not name.endswith(("_at", "version"))
    ]
    return dict(found[:_MOST_COUNTS])
