import inspect
import re

import apsw
import pytest

from app.adapters.local.sqlite_errors import closes_connection, mapped
from app.domain import errors
from app.domain.errors import DatabaseRejected, DatabaseUnavailable, MemoryGatewayError, StorageFull, StorageReadOnly


def tree() -> dict[str, type[MemoryGatewayError]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, MemoryGatewayError)
    }


def test_the_docstring_draws_every_error_under_its_parent() -> None:
    drawn: dict[str, str] = {}
    above: list[str] = []
    assert errors.__doc__
    for line in errors.__doc__.splitlines():
        match = re.match(r"( {4}(?:\|   )*(?:\|-- )?)(\w+)", line)
        if match and match[2] in tree():
            level = match[1].count("|")
            above = [*above[:level], match[2]]
            drawn[match[2]] = above[level - 1] if level else ""
    assert drawn == {
        name: "" if error is MemoryGatewayError else error.__mro__[1].__name__ for name, error in tree().items()
    }


def test_every_error_of_the_tree_is_imported_from_one_place() -> None:
    found: set[type[MemoryGatewayError]] = set()
    left = [MemoryGatewayError]
    while left:
        error = left.pop()
        left.extend(error.__subclasses__())
        if error.__module__.startswith(errors.__name__):
            found.add(error)
    assert set(tree().values()) == found


def test_codes_are_one_to_one_and_in_form() -> None:
    concrete = [error for name, error in tree().items() if name != "AccessRefused"]
    codes = [error.code for error in concrete]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z_]+", code) for code in codes)
    assert all(400 <= error.status <= 599 for error in concrete)


def sqlite_error(code: int | None) -> apsw.Error:
    error = apsw.Error("as apsw says") if code is None else apsw.exception_for(code)
    assert isinstance(error, apsw.Error)
    return error


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (apsw.SQLITE_FULL, StorageFull),
        (apsw.SQLITE_READONLY, StorageReadOnly),
        (apsw.SQLITE_READONLY_DIRECTORY, StorageReadOnly),
        (apsw.SQLITE_IOERR, DatabaseUnavailable),
        (apsw.SQLITE_IOERR_READ, DatabaseUnavailable),
        (apsw.SQLITE_IOERR_WRITE, StorageFull),
        (apsw.SQLITE_IOERR_SHMSIZE, StorageFull),
        (apsw.SQLITE_BUSY, DatabaseUnavailable),
        (apsw.SQLITE_CANTOPEN, DatabaseUnavailable),
        (apsw.SQLITE_CORRUPT, DatabaseUnavailable),
        (apsw.SQLITE_NOTADB, DatabaseUnavailable),
        (apsw.SQLITE_CONSTRAINT_UNIQUE, DatabaseRejected),
        (apsw.SQLITE_ERROR, DatabaseRejected),
        (apsw.SQLITE_TOOBIG, DatabaseRejected),
        (None, DatabaseRejected),
    ],
)
def test_every_sqlite_result_has_one_meaning(code: int | None, kind: type[MemoryGatewayError]) -> None:
    error = sqlite_error(code)
    assert type(mapped(error)) is kind
    assert closes_connection(error) == (kind is not DatabaseRejected)


def test_every_result_code_of_sqlite_is_either_our_defect_or_an_outage() -> None:
    primary = {
        name: value
        for name, value in vars(apsw).items()
        if name.startswith("SQLITE_") and isinstance(value, int) and 1 <= value <= 26 and _is_result_code(name)
    }
    assert len(primary) >= 20
    for value in primary.values():
        assert isinstance(mapped(sqlite_error(value)), DatabaseUnavailable | DatabaseRejected)


def _is_result_code(name: str) -> bool:
    """Tell result codes from authorizer actions and limits, which share their numbers."""
    return name.removeprefix("SQLITE_") in {
        "ERROR",
        "INTERNAL",
        "PERM",
        "ABORT",
        "BUSY",
        "LOCKED",
        "NOMEM",
        "READONLY",
        "INTERRUPT",
        "IOERR",
        "CORRUPT",
        "NOTFOUND",
        "FULL",
        "CANTOPEN",
        "PROTOCOL",
        "EMPTY",
        "SCHEMA",
        "TOOBIG",
        "CONSTRAINT",
        "MISMATCH",
        "MISUSE",
        "NOLFS",
        "AUTH",
        "FORMAT",
        "RANGE",
        "NOTADB",
    }
