"""LangGraph's store: items as ``Item.dict()``, ``SearchItem.dict()`` and the Platform's store search give them.

``{"items": [...]}``, a list of items or lines of them, with ``namespace``, ``key``, ``value``, ``created_at``,
``updated_at`` and ``score``.
Sources: langchain-ai/langgraph ``libs/checkpoint/langgraph/store/base/__init__.py``;
reference.langchain.com/python/langgraph-sdk/schema/SearchItemsResponse.

Mapping: the text is the first text of ``value`` among ``content``, ``text``, ``memory`` and ``data``, or, as LangMem
nests it, ``value.content.content``; the rest of ``value`` is the metadata. A value without such a text is itself the
text, as JSON. A namespace names no agent by itself; ``["memories", X]`` and ``[X, "memories"]`` are taken to mean the
agent X where X has the form of an agent id. Namespace, key and score are kept as ``langgraph.<field>``, but for the
namespaces ``["memories"]`` and ``["memories", X]``, which hold no other information.
"""

from collections.abc import Mapping

from app.domain.json_types import Json, to_json
from app.domain.limits import is_id
from app.services.transfer.formats.entries import ForeignEntry, Untaken, is_name
from app.services.transfer.formats.form import Format
from app.services.transfer.record import Record

_ROOT = "memories"
_TEXTS = ("content", "text", "memory", "data")


def _take(fields: ForeignEntry, agent_id: str) -> Record:
    content, metadata = _parted(fields.pop("value", None))
    namespace = fields.get("namespace")
    named = _agent(namespace)
    if namespace == [_ROOT] or (named is not None and namespace == [_ROOT, named]):
        fields.drop("namespace")
    return Record(
        agent_id=named or agent_id, content=content, metadata=metadata, created_at=fields.moment("created_at")
    )


def _parted(value: Json) -> tuple[str, dict[str, Json]]:
    if not isinstance(value, Mapping) or not value:
        raise Untaken("has no object in value, or an empty one")
    nested = value.get("content")
    if isinstance(nested, Mapping) and is_name(nested.get("content")):
        inner = _without("content", nested)
        return str(nested["content"]), _without("content", value) | ({"content": inner} if inner else {})
    texts = [name for name in _TEXTS if isinstance(value.get(name), str)]
    for name in filter(lambda name: is_name(value[name]), texts):
        return str(value[name]), _without(name, value)
    if texts:
        raise Untaken("has a blank text")
    return to_json(value), {}


def _without(name: str, value: Mapping[str, Json]) -> dict[str, Json]:
    return {key: one for key, one in value.items() if key != name}


def _agent(namespace: Json) -> str | None:
    if isinstance(namespace, list) and len(namespace) == 2 and _ROOT in namespace:  # noqa: PLR2004 - both idioms
        other = namespace[1] if namespace[0] == _ROOT else namespace[0]
        return str(other) if is_id(other) else None
    return None


FORMAT = Format("langgraph", within=["items"], mark="value", take=_take)
