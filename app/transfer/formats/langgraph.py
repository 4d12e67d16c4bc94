"""LangGraph's store: items as ``Item.dict()``, ``SearchItem.dict()`` and the Platform's store search give them.

Read: ``{"items": [...]}``, a list of items or lines of them, with ``namespace``, ``key``, ``value``, ``created_at``,
``updated_at`` and ``score``.
Sources: langchain-ai/langgraph ``libs/checkpoint/langgraph/store/base/__init__.py``;
reference.langchain.com/python/langgraph-sdk/schema/SearchItemsResponse.

Mapping: the text is the first text of ``value`` among ``content``, ``text``, ``memory`` and ``data``, or, as LangMem
nests it, ``value.content.content``; the rest of ``value`` is the metadata. A value without such a text is itself the
text, as JSON. A namespace names no agent by itself; ``["memories", X]`` and ``[X, "memories"]`` are taken to mean the
agent X where X has the form of an agent id. Namespace, key and score are kept as ``langgraph.<field>``, except where
they are as written here.

Written: lines of JSON, one item each, for ``store.put(namespace, key, value)``: ``value`` is ``content`` beside the
metadata, the namespace ``["memories", agent]``, the key the memory's id, or the hash of what makes it that memory.
What an item has no field for stands in ``value`` (see ``envelope``). ``put`` sets both times anew: LangGraph itself
takes no time from outside. Not carried: vectors.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from app.limits import is_id
from app.model import Json, NewMemory, format_moment, to_json
from app.transfer.formats.entries import Fields, finished, is_name, native
from app.transfer.formats.envelope import packed
from app.transfer.formats.form import Dialect, Flaw, Format, Located, Untaken, listed
from app.transfer.formats.reading import records
from app.transfer.record import Record

NAME = "langgraph"

_ROOT = "memories"
_TEXTS = ("content", "text", "memory", "data")


def read(stream: TextIO, agent_id: str) -> Iterator[Record | Flaw]:
    """Read items."""
    return records(stream, agent_id, Dialect(NAME, _entries, _take))


def write(records_: Iterable[Record]) -> Iterator[str]:
    """Write items."""
    return (f"{to_json(_item(record))}\n" for record in records_)


def _entries(value: Json) -> Sequence[Located] | None:
    return listed(value, within=["items"], marks=["value"])


def _take(entry: Json, agent_id: str) -> Record:
    fields = Fields(entry)
    fields.drop_repeated("updated_at", of="created_at")
    content, metadata = _parted(fields.take("value"))
    namespace = fields.peek("namespace")
    if _is_ours(namespace):
        fields.drop("namespace")
    created = fields.moment("created_at")
    record = Record(agent_id=_agent(namespace) or agent_id, content=content, metadata=metadata, created_at=created)
    key = fields.peek("key")
    if key == _key(finished(record, NAME, {})):
        fields.drop("key")
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


def _is_ours(namespace: Json) -> bool:
    return namespace == [_ROOT] or (_agent(namespace) is not None and namespace == [_ROOT, _agent(namespace)])


def _is_namespace(value: Json) -> bool:
    labels = (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, str) and one and "." not in one for one in value)
    )
    return labels and isinstance(value, list) and value[0] != "langgraph" and not _is_ours(value)


def _item(record: Record) -> dict[str, Json]:
    key = _key(record)
    fits = {"namespace": _is_namespace, "key": lambda value: is_name(value) and value != key}
    own, metadata = native(record.metadata, NAME, fits)
    home = [_ROOT] if "." in record.agent_id else [_ROOT, record.agent_id]
    carried = {"created_at"} | ({"agent_id"} if _agent(own.get("namespace", home)) == record.agent_id else set())
    created = None if record.created_at is None else format_moment(record.created_at)
    return {
        "namespace": home,
        "key": key,
        **own,
        "value": {"content": record.content, **packed(record, metadata, carried=carried, reserved=["content"])},
        "created_at": created,
        "updated_at": created,
    }


def _key(record: Record) -> str:
    return (
        record.id
        or NewMemory(record.content, session_id=record.session_id, occurred_at=record.occurred_at).content_hash
    )


FORMAT = Format(NAME, read, write)
