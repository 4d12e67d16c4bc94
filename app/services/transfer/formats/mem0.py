"""mem0: the answers of ``get_all`` (platform and open source).

``{"results": [...]}`` or a list of memories, with ``memory``, ``created_at``, ``agent_id``, ``user_id``, ``run_id``,
``metadata``, ``expiration_date`` and more; a file has one or several such answers. A platform export has the schema
that its request named: the export is read where this schema has ``results`` or ``memories`` of this form.
Sources: docs.mem0.ai/api-reference/memory/get-memories, .../v1-get-memories; mem0ai/mem0 ``mem0/memory/main.py`` (get).

Mapping: ``agent_id`` is the agent, else ``user_id`` (so that two users' memories stay apart), where it has the form of
an agent id; ``user_id`` also stays in the metadata as ``mem0.user_id``. ``run_id`` is the session. Every other field
is kept as ``mem0.<field>``.
"""

from app.domain.limits import is_id
from app.services.transfer.formats.entries import ForeignEntry
from app.services.transfer.formats.form import Format
from app.services.transfer.record import Record


def _take(fields: ForeignEntry, agent_id: str) -> Record:
    return Record(
        agent_id=_agent(fields) or agent_id,
        content=fields.content("memory"),
        metadata=fields.metadata("metadata"),
        session_id=fields.name("run_id"),
        created_at=fields.moment("created_at"),
        expires_at=fields.moment("expiration_date"),
    )


def _agent(fields: ForeignEntry) -> str | None:
    if is_id(fields.get("agent_id")):
        return str(fields.pop("agent_id"))
    user = fields.get("user_id")
    return str(user) if is_id(user) else None


FORMAT = Format("mem0", within=["results", "memories"], mark="memory", take=_take)
