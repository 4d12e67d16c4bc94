"""mcp-memory-service: the JSON file that its sync exports.

``{"export_metadata": {...}, "memories": [...]}``, or such memories alone, with ``content``, ``content_hash``, ``tags``,
``memory_type``, ``metadata`` and ``created_at``, ``updated_at`` in seconds since the epoch.
Sources: doobidoo/mcp-memory-service ``models/memory.py``, ``sync/converters/mem0.py``; ``sync/exporter.py`` as
vanfleet-dev/mcp-memory-service keeps it.

Mapping: ``metadata.agent_id``, where that service keeps a memory's agent, is the agent where it has the form of an
agent id. Tags, type, hash and every other field are kept as ``mcp-memory-service.<field>``; ``export_metadata`` is not
kept, and neither is an ``embedding``, which names no model.
"""

from app.domain.limits import is_id
from app.services.transfer.formats.entries import ForeignEntry
from app.services.transfer.formats.form import Format
from app.services.transfer.record import Record


def _take(fields: ForeignEntry, agent_id: str) -> Record:
    fields.drop("embedding")
    content, metadata = fields.content("content"), fields.metadata("metadata")
    if fields.get("tags") == []:
        fields.drop("tags")
    created = "created_at_iso" if fields.get("created_at") is None else "created_at"
    if is_id(metadata.get("agent_id")):
        agent_id = str(metadata.pop("agent_id"))
    record = Record(agent_id=agent_id, content=content, metadata=metadata, created_at=fields.moment(created))
    fields.drop("created_at_iso", *(["updated_at_iso"] if created == "created_at" else []))
    return record


FORMAT = Format("mcp-memory-service", within=["memories"], mark="content", take=_take)
