"""mem0: what ``get_all`` answers (platform and open source).

``{"results": [...]}`` or a list of memories, with ``memory``, ``created_at``, ``agent_id``, ``user_id``, ``run_id``,
``metadata``, ``expiration_date`` and more, one or several such answers. A platform export has the schema that was asked
for: it is read where that has ``results`` or ``memories`` of this form.
Sources: docs.mem0.ai/api-reference/memory/get-memories, .../v1-get-memories; mem0ai/mem0 ``mem0/memory/main.py`` (get).

Mapping: ``agent_id`` is the agent, else ``user_id`` (so that two users' memories stay apart), where it has the form of
an agent id; ``user_id`` also stays in the metadata as ``mem0.user_id``. ``run_id`` is the session. Every other field
is kept as ``mem0.<field>``.
"""

from collections.abc import Sequence

from app.domain.json_types import Json
from app.domain.limits import is_id
from app.services.transfer.formats.entries import Fields, finished
from app.services.transfer.formats.form import Format, Located, listed
from app.services.transfer.record import Record

NAME = "mem0"


def _entries(value: Json) -> Sequence[Located] | None:
    return listed(value, within=["results", "memories"], mark="memory")


def _take(entry: Json, agent_id: str) -> Record:
    fields = Fields(entry)
    fields.drop_repeated("updated_at", of="created_at")
    record = Record(
        agent_id=_agent(fields) or agent_id,
        content=fields.content("memory"),
        metadata=fields.metadata("metadata"),
        session_id=fields.name("run_id"),
        created_at=fields.moment("created_at"),
        expires_at=fields.moment("expiration_date"),
    )
    return finished(record, NAME, fields.left())


def _agent(fields: Fields) -> str | None:
    if is_id(fields.peek("agent_id")):
        return str(fields.take("agent_id"))
    user = fields.peek("user_id")
    return str(user) if is_id(user) else None


FORMAT = Format(NAME, _entries, _take)
