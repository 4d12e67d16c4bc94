"""What D1 does not let SQL do, as SQLite's authorizer.

The PRAGMAs and functions are those that workerd's own authorizer lets through (src/workerd/util/sqlite.c++).
"""

import sqlite3

PRAGMAS = frozenset(
    {
        "data_version",
        "page_size",
        "case_sensitive_like",
        "foreign_keys",
        "defer_foreign_keys",
        "ignore_check_constraints",
        "legacy_alter_table",
        "recursive_triggers",
        "reverse_unordered_selects",
        "foreign_key_check",
        "foreign_key_list",
        "index_info",
        "index_list",
        "index_xinfo",
        "quick_check",
        "optimize",
        "table_list",
        "table_info",
        "table_xinfo",
    }
)
_READ_ONLY = frozenset({"data_version", "page_size"})
# They last for one call, as PRAGMAs do in D1; what is not here SQLite itself forgets with the transaction.
_RESET = {
    "case_sensitive_like": "OFF",
    "ignore_check_constraints": "OFF",
    "legacy_alter_table": "OFF",
    "recursive_triggers": "OFF",
    "reverse_unordered_selects": "OFF",
}
_FUNCTIONS_REFUSED = frozenset(
    {
        "load_extension",
        "sqlite_version",
        "sqlite_source_id",
        "sqlite_compileoption_get",
        "sqlite_compileoption_used",
        "fts3_tokenizer",
    }
)
_MODULES = frozenset({"fts5", "fts5vocab", "rtree", "rtree_i32"})
_ACTIONS_REFUSED = frozenset(
    {
        sqlite3.SQLITE_ATTACH,
        sqlite3.SQLITE_DETACH,
        sqlite3.SQLITE_CREATE_TEMP_INDEX,
        sqlite3.SQLITE_CREATE_TEMP_TABLE,
        sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
        sqlite3.SQLITE_CREATE_TEMP_VIEW,
    }
)
_RESERVED = "_cf_"


class Guard:
    """The authorizer of one connection; it lets everything through while ``own`` is set."""

    def __init__(self) -> None:
        """Start with the double's own statements allowed."""
        self.own = True
        self._set: set[str] = set()

    def __call__(self, action: int, first: str | None, second: str | None, database: str | None, _: str | None) -> int:
        """Answer SQLite's question whether an action may be compiled."""
        if self.own:
            return sqlite3.SQLITE_OK
        if database == "temp" and action == sqlite3.SQLITE_INSERT:
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if self._allows(action, first, second) else sqlite3.SQLITE_DENY

    def resets(self) -> list[str]:
        """Return what undoes the PRAGMAs that were set since the last time."""
        done = [f"PRAGMA {name} = {_RESET[name]}" for name in sorted(self._set)]
        self._set.clear()
        return done

    def _allows(self, action: int, first: str | None, second: str | None) -> bool:
        if action in _ACTIONS_REFUSED:
            return False
        if action == sqlite3.SQLITE_PRAGMA:
            return self._allows_pragma((first or "").lower(), second)
        if action == sqlite3.SQLITE_FUNCTION:
            return (second or "").lower() not in _FUNCTIONS_REFUSED
        if action == sqlite3.SQLITE_CREATE_VTABLE and (second or "").lower() not in _MODULES:
            return False
        return not (first or "").lower().startswith(_RESERVED)

    def _allows_pragma(self, name: str, argument: str | None) -> bool:
        if name not in PRAGMAS or (name in _READ_ONLY and argument is not None):
            return False
        if name in _RESET and argument is not None:
            self._set.add(name)
        return True
