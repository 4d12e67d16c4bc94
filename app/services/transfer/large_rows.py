"""Large values of rows on their way out and in: a line has the value itself, wherever it lies (docs/format.md)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.errors import BlobGone, MemoryGatewayError, UpstreamRejected
from app.domain.json_types import Scalar, to_json
from app.services.tenant.backends import TenantBackends
from app.services.tiers.large_values import LargeValues, StoredValue, is_large
from app.services.transfer.fields import BadLineError
from app.storage.tiers.tables import Large, TierTable


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A row as it is to be written, and which of its values are blobs now."""

    row: Mapping[str, Scalar]
    agent_id: str
    values: tuple[StoredValue, ...]


class LargeRows:
    """Takes large values out of rows and puts them back, for one tenant, bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with; the tenant is bound in it."""
        self._values = LargeValues(backends)

    def has(self, tier: TierTable, row: Mapping[str, Scalar]) -> bool:
        """Tell whether a line's row has values that are too large for a row of the table."""
        return any(is_large(str(row.get(large.column, ""))) for large in tier.large)

    async def whole(self, tier: TierTable, row: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """Return a row of the table with its large values. One that is lost stays a pointer.

        Raises:
            Unavailable: the object store does not answer.
        """
        found = dict(row)
        for large in tier.large:
            blob_id = row.get(large.blob)
            if blob_id is not None:
                held = json.loads(str(row[large.column]))
                try:
                    value = await self._values.load(held[large.within] if large.within else held, str(blob_id))
                except (BlobGone, UpstreamRejected):
                    continue
                found[large.column] = to_json({**held, large.within: value} if large.within else value)
        return found

    async def kept(self, tier: TierTable, row: Mapping[str, Scalar]) -> KeptRow | None:
        """Put the large values of a line's row into the store; None where it has none.

        Raises:
            BadLineError: a value is larger than it may be.
            ContentTooLarge, QuotaExceeded, Erasing, Unauthenticated, Unavailable: as ``LargeValues.keep`` does.
        """
        agent_id, values, changed = str(row.get("agent_id")), list[StoredValue](), dict[str, Scalar]()
        try:
            for large in tier.large:
                text = row.get(large.column)
                if isinstance(text, str) and is_large(text):
                    held = json.loads(text)
                    inner = _inner(held, large)
                    values.append(await self._values.keep(agent_id, large.column, inner, kind="import"))
                    pointer = json.loads(values[-1].text)
                    changed[large.column] = to_json({**held, large.within: pointer} if large.within else pointer)
                    changed[large.blob] = values[-1].blob_id
        except (BadLineError, MemoryGatewayError):
            for value in values:
                await self._values.let_go(agent_id, value)
            raise
        return KeptRow({**row, **changed}, agent_id, tuple(values)) if values else None

    async def let_go(self, kept: KeptRow) -> None:
        """Remove the values of a row that was not written; those of one that was stay."""
        for value in kept.values:
            await self._values.let_go(kept.agent_id, value)


def _inner(held: Any, large: Large) -> str:  # noqa: ANN401 - any JSON
    """Return the value in what a column has, as JSON."""
    if large.within and not (isinstance(held, dict) and large.within in held):
        raise BadLineError(f"{large.column} must be an object with {large.within}")
    text = to_json(held[large.within] if large.within else held)
    if len(text.encode()) > large.most:
        raise BadLineError(f"{large.column} has more than {large.most} bytes")
    return text
