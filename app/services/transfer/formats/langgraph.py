"""LangGraph's store: items as ``Item.dict()``, ``SearchItem.dict()`` and the Platform's store search give them.

``{"items": [...]}``, a list of items or lines of them, with ``namespace``, ``key``, ``value``, ``created_at``,
``updated_at`` and ``score``.
Sources: langchain-ai/langgraph ``libs/checkpoint/langgraph/store/base/__init__.py``;
reference.langchain.com/python/langgraph-sdk/schema/SearchItemsResponse.

Mapping: the text is the first text of ``value`` among ``content``, ``text``, ``memory`` and ``data``, or, as LangMem
nests it, ``value.content.content``; the rest of ``value`` is the metadata. A value without such a text is itself the
text, as JSON. A namespace names no agent by itself; ``["memories", X]`` and ``[X, "memories"]`` are taken to mean the
agent X where X has the form of an agent id. Namespace, key and score are kept as ``langgraph.<field>``, but for the
namespaces ``["memories"]`` and ``["memories", X]``, which say nothing else.
"""

from collections.abc import Mapping, Sequence

from app.domain.json_types import Json, to_json
from app.domain.limits import is_id
from app.services.transfer.formats.entries import Fields, finished, is_name
from app.services.transfer.formats.form import Format, Located, Untaken, listed
from app.services.transfer.record import Record

NAME = "langgraph"

_ROOT = "memories"
_TEXTS = ("content", "text", "memory", "data")


def _entries(value: Json) -> Sequence[Located] | None:
    return listed(value, within=["items"], mark="value")


def _take(entry: Json, agent_id: str) -> Record:
    fields = Fields(entry)
    fields.drop_repeated("updated_at", of="created_at")
    content, metadata = _parted(fields.take("value"))
    namespace = fields.peek("namespace")
    named = _agent(namespace)
    if namespace == [_ROOT] or (named is not None and namespace == [_ROOT, named]):
        fields.drop("namespace")
    record = Record(
        agent_id=named or agent_id, content=content, metadata=metadata, created_at=fields.moment("created_at")
    )
    return finished(record, NAME, fields.left())


def _parted(value: Json) -> tuple[str, dict[str, Json]]:
    if not isinstance(value, Mapping) or not value:
        raise Untaken("has no object in value, or an empty one")
    nested = value.get("content")
    if isinstance(nested, Mapping) and is_name(nested.get("content")):
        inner = {key: one for key, one in nested.items() if key != "content"}
        outer = {key: one for key, one in value.items() if key != "content"}
        return str(nested["content"]), outer | ({"content": inner} if inner else {})
    name = next((name for name in _TEXTS if is_name(value.get(name))), None)
    if name is None and any(isinstance(value.get(name), str) for name in _TEXTS):
        raise Untaken("has a blank text")
    if name is None:
        return to_json(value), {}
    return str(value[name]), {key: one for key, one in value.items() if key != name}


def _agent(namespace: Json) -> str | None:
    if isinstance(namespace, list) and len(namespace) == 2 and _ROOT in namespace:  # noqa: PLR2004 - both idioms
        other = namespace[1] if namespace[0] == _ROOT else namespace[0]
        return str(other) if is_id(other) else None
    return None


FORMAT = Format(NAME, _entries, _take)
