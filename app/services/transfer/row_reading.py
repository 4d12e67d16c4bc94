"""Reads a row of a tier from a line of an import, and holds it against the declaration of its table."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from app.domain import limits
from app.services.transfer.fields import DECODER, bad, check_names, digest_of, object_of, text_of
from app.services.transfer.lines import BadLineError, RowLine, hash_of_row, held
from app.storage.tiers.tables import TIER_TABLES, TierTable

_ID = re.compile(limits.MEMORY_ID_FORM)
_ROW_NAMES = {"type", "kind", "row", "hash"}
_TIERS: Mapping[str, TierTable] = {tier.kind: tier for tier in TIER_TABLES if tier.travels}
_AGENT_ID = re.compile(limits.ID_FORM)
_NAMES = {"agent_id", "agent_type", "instance", "task_type"}
"""Columns, in whatever table, that hold what has the form of an agent's id."""
_LARGEST = 2**63 - 1


def read_row(value: dict[str, Any]) -> RowLine:
    """Read a line of type ``tier``.

    Raises:
        BadLineError: its row cannot be of its table, or its hash is not that of what it says.
    """
    check_names(value, _ROW_NAMES, _ROW_NAMES)
    kind, row = text_of(value, "kind"), object_of(value, "row")
    tier = _TIERS.get(kind)
    if tier is None:
        bad("is of a kind that is not known")
    given = row.get("id")
    try:
        _check_row(tier, row)
        if hash_of_row(kind, row) != digest_of(value):
            bad("the hash is not that of the row")
    except BadLineError as error:
        id_ = given if isinstance(given, str) and _ID.fullmatch(given) else None
        raise BadLineError(error.detail, id_) from None
    return RowLine(tier, held(tier, row), value["hash"])


def _check_row(tier: TierTable, row: Mapping[str, Any]) -> None:
    """Hold a row against the declaration of its table, whose own rules decide the rest.

    Raises:
        BadLineError: it has other columns, or a value that no column can have.
    """
    if "tenant_id" in row:
        bad("a row names no tenant: it is that of the credential")
    if unknown := row.keys() - set(tier.told):
        bad(f"the row has a column that is not known: {min(unknown)[:40]!a}")
    needed = {*tier.key, *(["agent_id"] if tier.of_agent else [])}
    if missing := [column for column in sorted(needed) if row.get(column) is None]:
        bad(f"the row lacks {' and '.join(missing)}")
    for column, value in row.items():
        if not (value is None or _is_text(value) or _is_number(value)):
            bad(f"{column} must be a text, a number or null")
    _check_names(tier, row)
    _check_key(tier, row)
    for column in tier.json:
        if row.get(column) is not None and not _is_json(row[column]):
            bad(f"{column} must be a text that is valid JSON")
    if tier.weighs is not None:
        _check_weight(tier.weighs, row)


def _check_weight(weighs: tuple[tuple[str, ...], int], row: Mapping[str, Any]) -> None:
    """Refuse a row that says that it has fewer bytes than it has: limits are held against what rows say."""
    columns, beside = weighs
    held = sum(len(row[column].encode()) for column in columns if isinstance(row.get(column), str))
    if not (_is_integer(row.get("bytes")) and row["bytes"] >= held + beside):
        bad("bytes must not be less than what the row holds")


def _check_key(tier: TierTable, row: Mapping[str, Any]) -> None:
    for column in tier.key:
        # A database would turn the one into the other, and the row would not be found under the key that it came with.
        if column in tier.integers and not _is_integer(row[column]):
            bad(f"{column} must be an integer")
        if column not in tier.integers and not isinstance(row[column], str):
            bad(f"{column} must be a text")


def _is_integer(value: object) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _check_names(tier: TierTable, row: Mapping[str, Any]) -> None:
    """Hold to the form of an agent's id whatever has it in the table."""
    for column in sorted(_NAMES & row.keys()):
        value = row[column]
        if value is None or (column == "agent_id" and tier.unnamed and value == ""):
            continue
        if not (isinstance(value, str) and _AGENT_ID.fullmatch(value)):
            bad(f"{column} must have the form of an agent's id")


def _is_json(value: object) -> bool:
    """Whether a column's value is a text of JSON."""
    if not isinstance(value, str):
        return False
    try:
        DECODER.decode(value)
    except (ValueError, RecursionError):
        return False
    return True


def _is_text(value: object) -> bool:
    """Whether it is a text that a database keeps: without NUL and without half a surrogate pair."""
    return isinstance(value, str) and "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


def _is_number(value: object) -> bool:
    return (type(value) is int and abs(value) <= _LARGEST) or (type(value) is float and isfinite(value))
