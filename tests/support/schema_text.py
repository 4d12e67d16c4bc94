"""What a database is made of, in a form in which two of them can be compared."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

READ = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
"""Reads what ``objects`` takes. The tables of the local index of vectors, ``local_...``, are made by its adapter."""
_OTHERS = ("sqlite_", "local_", "_cf_")


def objects(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[str, str, str]]]:
    """Return what each table and view has: itself, its indexes and triggers, in their order, each with its text."""
    found: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for row in rows:
        if not str(row["tbl_name"]).startswith(_OTHERS):
            found[str(row["tbl_name"])].append((str(row["type"]), str(row["name"]), plain(str(row["sql"]))))
    return {name: sorted(of_one, key=lambda each: each[0]) for name, of_one in found.items()}


def plain(sql: str) -> str:
    """Return a statement without its comments, line ends and the quotes of names."""
    text = re.sub(r"--[^\n]*", "", sql).replace('"', "")
    return re.sub(r"\s*([(),;])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()
