"""The file of golden questions: a question on each line, as labelled sets have them (docs/evaluation.md)."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain import limits
from app.domain.bounds import ID_FORM, MEMORY_ID_FORM
from app.domain.errors import InvalidRequest
from app.domain.golden import GoldenQuestion
from app.domain.json_types import Scalar
from app.domain.limits import is_id
from app.domain.query import Filter
from app.interfaces.fields import RecallFilter
from app.storage.golden import StoredQuestion

MOST_BYTES = 8 * 1024 * 1024
"""Bytes that a file may have."""
MOST_LINE_BYTES = 64 * 1024
_Name = Annotated[str, Field(pattern=rf"^{ID_FORM}$")]


class LabelledQuestion(BaseModel):
    """A question with what is right, as every labelled set has it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    qid: str = Field(min_length=1)
    question: str = Field(pattern=r"\S")
    gold: tuple[str, ...] = ()
    """What holds the answer: turns of the conversation, or of a golden question memories."""
    category: str = "all"
    expected: tuple[str | tuple[str, ...], ...] = ()
    """What a right answer says, or of a golden question memories: every item, or one alternative of an item."""

    @property
    def alternatives(self) -> list[tuple[str, ...]]:
        """The items of ``expected``, each as its alternatives."""
        return [(each,) if isinstance(each, str) else each for each in self.expected]


class _GoldenLine(LabelledQuestion):
    model_config = ConfigDict(frozen=True, extra="forbid")

    qid: str = Field(min_length=1, max_length=64)
    tenant: _Name | None = None
    agent_id: _Name
    gold: tuple[Annotated[str, Field(pattern=rf"^{MEMORY_ID_FORM}$")], ...] = Field((), max_length=50)
    expected: tuple[str | tuple[str, ...], ...] = Field((), max_length=50)
    metadata: dict[str, Scalar] = Field(default_factory=dict, max_length=16)
    k: int = Field(10, ge=1, le=limits.MAX_TOP_K, strict=True)
    filter: RecallFilter | None = None

    def of_tenant(self, tenant_id: str) -> GoldenQuestion:
        """Return the question, as one of a tenant."""
        where = Filter() if self.filter is None else self.filter.to(Filter)
        expected = (self.gold, self.alternatives, self.metadata)
        return GoldenQuestion(tenant_id, self.agent_id, self.qid, self.question, *expected, self.k, where)


def read_file(file: Path, tenant_id: str | None, *, expecting: bool = True) -> list[GoldenQuestion]:
    """Read the questions of a file; those whose line names no tenant are ``tenant_id``'s.

    With ``expecting`` False a question need not say what it expects.

    Raises:
        InvalidRequest: the file is too large, is empty or has a line that is none of a question, names no tenant, or
            is there twice; the message names the line.
    """
    if file.stat().st_size > MOST_BYTES:
        raise InvalidRequest(f"{file} has {file.stat().st_size} bytes; golden questions have at most {MOST_BYTES}.")
    try:
        lines = file.read_text("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{file} is not UTF-8: {error.reason}.") from error
    numbered = ((f"{file} line {number}", line) for number, line in enumerate(lines, 1) if line.strip())
    questions = list(_distinct(_read_lines(numbered, tenant_id, expecting=expecting)))
    if not questions:
        raise InvalidRequest(f"{file} has no question: nothing was asked, and so nothing has passed.")
    return questions


def read_stored(stored: Iterable[StoredQuestion], tenant_id: str) -> list[GoldenQuestion]:
    """Read the questions that a tenant keeps; raises ``InvalidRequest`` where a newer version has written one."""
    lines = ((f"the question {one.id} of {tenant_id}", one.question) for one in stored)
    return [question for _, question in _read_lines(lines, tenant_id)]


def lines_of(file: Path, tenant_id: str) -> list[StoredQuestion]:
    """Return the questions of a file as they are kept for one tenant.

    Raises:
        InvalidRequest: as ``read_file`` says, or a line names another tenant.
    """
    read_file(file, tenant_id)
    kept = []
    for line in file.read_text("utf-8").split("\n"):
        if line.strip():
            fields: dict[str, Any] = json.loads(line)
            named = fields.pop("tenant", tenant_id)
            if named != tenant_id:
                raise InvalidRequest(f"{file}: the question {fields['qid']} is one of {named}, not of {tenant_id}.")
            kept.append(StoredQuestion(fields["agent_id"], fields["qid"], json.dumps(fields, ensure_ascii=False)))
    return kept


def _read_lines(
    lines: Iterable[tuple[str, str]], tenant_id: str | None, *, expecting: bool = True
) -> Iterator[tuple[str, GoldenQuestion]]:
    for where, line in lines:
        read = _read_line(where, line)
        tenant = read.tenant or tenant_id
        if tenant is None or not is_id(tenant):
            raise InvalidRequest(f"{where}: names no tenant. Give the line a tenant, or the command --tenant.")
        if expecting and not (read.gold or read.expected or read.metadata):
            raise InvalidRequest(f"{where}: expects nothing; name gold, expected or metadata.")
        yield where, read.of_tenant(tenant)


def _read_line(where: str, line: str) -> _GoldenLine:
    """Read a line; raises ``InvalidRequest`` where it has another form, with its place in the file."""
    if len(line.encode()) > MOST_LINE_BYTES:
        raise InvalidRequest(f"{where}: has more than {MOST_LINE_BYTES} bytes.")
    try:
        return _GoldenLine.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise InvalidRequest(f"{where}: {field + ': ' if field else ''}{first['msg']}.") from error


def _distinct(questions: Iterable[tuple[str, GoldenQuestion]]) -> Iterator[GoldenQuestion]:
    """Yield the questions; raises ``InvalidRequest`` where an agent has one of its questions twice."""
    seen: dict[Sequence[str], str] = {}
    for where, one in questions:
        scope = (one.tenant_id, one.agent_id)
        for key in ((*scope, "qid", one.id), (*scope, "question", one.text, str(one.where))):
            if key in seen:
                raise InvalidRequest(f"{where}: has the {key[2]} of {seen[key]}.")
            seen[key] = where
        yield one
