"""Large values of rows in exports and imports: a line has the value itself, even of a blob (docs/format.md)."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from app.domain.errors import BlobGone, UpstreamRejected
from app.domain.json_types import Json, Scalar, to_json
from app.services.blobs.large_values import LargeValues, is_large
from app.services.tenant.backends import TenantBackends
from app.services.transfer.fields import BadLineError
from app.storage.tiers.tables import Large, TierTable


@dataclass(frozen=True, slots=True)
class WholeRow:
    """A row with its large values; ``lost`` names the blobs that cannot be read, whose pointers the row still has."""

    row: Mapping[str, Scalar]
    lost: Sequence[str] = ()


class LargeRows:
    """Puts large values into exported rows, and takes them out of imported rows, for one tenant, bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._values = LargeValues(backends)

    def has(self, tier: TierTable, row: Mapping[str, Scalar]) -> bool:
        """Tell whether a line's row has values that are too large for a row of the table."""
        return any(is_large(str(row.get(large.column, ""))) for large in tier.large)

    async def whole(self, tier: TierTable, row: Mapping[str, Scalar]) -> WholeRow:
        """Return a row of the table with its large values. A value that is lost stays a pointer, and is named.

        Raises:
            Unavailable: the object store does not answer.
        """
        whole, lost = dict(row), list[str]()
        for large in tier.large:
            blob_id = row.get(large.blob)
            if blob_id is not None:
                column = json.loads(str(row[large.column]))
                try:
                    value = await self._values.load(column[large.within] if large.within else column, str(blob_id))
                except (BlobGone, UpstreamRejected):
                    lost.append(str(blob_id))
                    continue
                whole[large.column] = _with_value(large, column, value)
        return WholeRow(whole, lost)

    @asynccontextmanager
    async def stored(self, tier: TierTable, row: Mapping[str, Scalar]) -> AsyncIterator[Mapping[str, Scalar]]:
        """Yield a line's row as it is to be written, its large values as blobs; remove the blobs that no row took.

        Raises:
            BadLineError: a value is larger than it may be, or its column lacks it.
            ContentTooLarge, QuotaExceeded, Erasing, Unauthenticated, Unavailable: as ``LargeValues.kept`` does.
        """
        agent_id, changed = str(row.get("agent_id")), dict[str, Scalar]()
        async with AsyncExitStack() as values:
            for large in tier.large:
                text = row.get(large.column)
                if isinstance(text, str) and is_large(text):
                    column = json.loads(text)
                    kept = self._values.kept(agent_id, large.column, _value(large, column), kind="import")
                    value = await values.enter_async_context(kept)
                    changed[large.column] = _with_value(large, column, json.loads(value.text))
                    changed[large.blob] = value.blob_id
            yield {**row, **changed}


def _value(large: Large, column: Any) -> str:  # noqa: ANN401 - any JSON
    """Return the large value of a column, as JSON."""
    if large.within and not (isinstance(column, dict) and large.within in column):
        raise BadLineError(f"{large.column} must be an object with {large.within}")
    text = to_json(column[large.within] if large.within else column)
    if len(text.encode()) > large.most:
        raise BadLineError(f"{large.column} has more than {large.most} bytes")
    return text


def _with_value(large: Large, column: Any, value: Json) -> str:  # noqa: ANN401 - any JSON
    """Return the JSON of a column with another large value in it."""
    return to_json({**column, large.within: value} if large.within else value)
