"""The tools are the same over every transport and in every version of the protocol."""

from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from app.domain.limits import CONTENT_BYTES
from app.interfaces.tools.definition import INSTRUCTIONS
from app.interfaces.tools.manifests import manifest
from tests.interfaces.mcp.answers import answered, contents, refused
from tests.interfaces.mcp.conftest import Connected

MANIFEST = {tool["name"]: tool for tool in manifest("mcp")}
METADATA = {"none": None, "most": 2**63 - 1, "half": 0.5, "deep": {"list": [None, True, {"ö": "\u2028"}]}}
CONTENT = " “Å” \u2028\u0085 😀 \r\n\t\\ "


async def test_both_tools_are_listed_as_the_manifest_has_them(connection: Connected) -> None:
    listed = (await connection.client.list_tools()).tools
    assert [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in listed] == list(
        MANIFEST.values()
    )
    for tool in listed:
        assert tool.title
        assert tool.description
        assert tool.input_schema
        assert tool.output_schema
        assert (tool.meta or {})["tags"] == ["memory", "builtin"]


async def test_no_tool_deletes_or_reaches_beyond_the_memory(connection: Connected) -> None:
    listed = {tool.name: tool.annotations for tool in (await connection.client.list_tools()).tools}
    assert set(listed) == {"recall_memory", "store_memory"}
    for annotations in listed.values():
        assert annotations is not None
        assert (annotations.destructive_hint, annotations.open_world_hint) == (False, False)
        assert annotations.idempotent_hint is True
    for name in ("delete_memory", "forget_memory", "erase", "DELETE /memories/{memory_id}", ""):
        with pytest.raises(MCPError) as raised:
            await connection.client.call_tool(name, {})
        assert raised.value.code == types.INVALID_PARAMS
        assert "recall_memory, store_memory" in raised.value.message


async def test_a_model_is_told_what_the_tools_are_for(connection: Connected) -> None:
    assert connection.client.instructions == INSTRUCTIONS
    assert connection.client.server_info is not None
    assert connection.client.server_info.name == "memory-gateway"
    assert connection.client.server_capabilities.tools is not None


async def test_what_is_stored_is_recalled_as_it_was(connection: Connected) -> None:
    content = f"fidelity{CONTENT}fidelity"
    assert await answered(connection.client, "store_memory", content=content, metadata=METADATA) == {"stored": True}
    answer = await answered(connection.client, "recall_memory", query=content, top_k=1)
    (entry,) = answer["entries"]
    assert (entry["content"], entry["metadata"]) == (content, METADATA)
    assert 0 <= answer["confidence"] <= 1
    assert "degraded" not in answer


async def test_the_tools_and_the_routes_have_one_memory(connection: Connected) -> None:
    await answered(connection.client, "store_memory", content="stored by the tool", metadata={"route": "mcp"})
    await connection.service.store("stored by the route", metadata={"route": "mcp"})
    where = {"metadata": {"route": "mcp"}}
    both = ["stored by the route", "stored by the tool"]
    assert sorted(await contents(connection.client, "stored", filter=where)) == both
    assert sorted(await connection.service.contents("stored", filter=where)) == both
    by_tool = (await answered(connection.client, "recall_memory", query="stored", filter=where))["entries"]
    by_route = await connection.service.recall("stored", filter=where)
    for entry in by_route:
        source = entry["source"]
        entry["source"] = " ".join(source[name] for name in ("channel", "credential_id") if name in source)
        entry["date"] = entry["created_at"][:10]
    assert by_tool == [{key: entry[key] for key in by_tool[0]} for entry in by_route]


async def test_a_model_is_told_when_a_memory_happened_and_its_session_or_that_nothing_was_said(
    connection: Connected,
) -> None:
    where = {"metadata": {"told": True}}
    occurred = "2025-12-31T23:30:00-01:00"
    await connection.service.store(
        "Ann sailed to Lund", metadata={"told": True}, session_id="call-17", occurred_at=occurred
    )
    await answered(connection.client, "store_memory", content="Ann sailed to Kiel", metadata={"told": True})
    entries = (await answered(connection.client, "recall_memory", query="Ann sailed", filter=where))["entries"]
    lund, kiel = sorted(entries, key=lambda entry: str(entry["date"]))
    assert (lund["content"], lund["date"]) == ("Ann sailed to Lund", "2026-01-01")
    assert (lund["occurred_at"], lund["session_id"]) == ("2026-01-01T00:30:00.000Z", "call-17")
    assert (kiel["content"], kiel["date"]) == ("Ann sailed to Kiel", kiel["created_at"][:10])
    assert {"occurred_at", "session_id"}.isdisjoint(kiel)


async def test_a_filter_and_top_k_bound_what_is_recalled(connection: Connected) -> None:
    for year in (2024, 2025, 2026):
        await answered(connection.client, "store_memory", content=f"budget of {year}", metadata={"year": year})

    async def recalled(**arguments: Any) -> list[str]:
        return await contents(connection.client, "budget of 2025", **arguments)

    assert await recalled(filter={"metadata": {"year": 2026}}) == ["budget of 2026"]
    assert await recalled(filter={"metadata": {"year": "2026"}}) == []
    assert await recalled(filter={"metadata": {"year": 2024}, "created_after": "2200-01-01T00:00:00Z"}) == []
    before = {"metadata": {"year": 2024}, "created_before": "2200-01-01T00:00:00Z"}
    assert await recalled(filter=before) == ["budget of 2024"]
    assert await recalled(top_k=1) == ["budget of 2025"]


async def test_null_stands_for_an_argument_left_out(connection: Connected) -> None:
    await answered(connection.client, "store_memory", content="null is nothing", metadata=None)
    assert "null is nothing" in await contents(connection.client, "null is nothing", top_k=None, filter=None)


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("recall_memory", {}, "query: field required"),
        ("recall_memory", {"query": 5}, "query: "),
        ("recall_memory", {"query": " "}, "query must "),
        ("recall_memory", {"query": "x", "top_k": 21}, "top_k must "),
        ("recall_memory", {"query": "x", "top_k": "5"}, "top_k: "),
        ("recall_memory", {"query": "x", "filter": {"created_after": "yesterday"}}, "filter.created_after: "),
        ("recall_memory", {"query": "x", "filter": {"metadata": {"k": [1]}}}, "filter.metadata"),
        ("recall_memory", {"query": "x", "filter": {"tenant": "other"}}, "filter.tenant: is not a field"),
        ("recall_memory", {"query": "x", "agent_id": "other"}, "agent_id: is not a field"),
        ("store_memory", {"content": ""}, "content must "),
        ("store_memory", {"content": "x\0y"}, "content must "),
        ("store_memory", {"content": "x", "metadata": []}, "metadata: "),
        ("store_memory", {"content": "x", "metadata": {"k": 2.0**64}}, "metadata must "),
        ("store_memory", {"content": "x", "agent": "other"}, "agent: is not a field"),
        ("store_memory", {"content": "x", "tenant": "other", "tenant_id": "other"}, "tenant_id: is not a field"),
    ],
)
async def test_a_wrong_argument_is_named_with_what_to_do(
    connection: Connected, tool: str, arguments: dict[str, Any], named: str
) -> None:
    code, text = await refused(connection.client, tool, **arguments)
    assert code == "invalid_request"
    assert named in text
    assert text.endswith(". Correct what is named and try again.")


async def test_content_over_the_limit_is_to_be_shortened(connection: Connected) -> None:
    code, text = await refused(connection.client, "store_memory", content="x" * (CONTENT_BYTES + 1))
    assert code == "content_too_large"
    assert str(CONTENT_BYTES) in text
    assert "Shorten it" in text
    await answered(connection.client, "store_memory", content="x" * CONTENT_BYTES)


async def test_a_switched_off_memory_has_no_tools_until_it_is_on_again(connection: Connected) -> None:
    client, service = connection.client, connection.service
    administrator = service.credential(admin=True)

    async def switch(*, on: bool) -> None:
        answer = await service.client.put("/agents/bot", json={"long_term_enabled": on}, headers=administrator)
        assert answer.status_code == 200

    await switch(on=False)
    assert (await client.list_tools()).tools == []
    for tool, arguments in (("recall_memory", {"query": "x"}), ("store_memory", {"content": "kept back"})):
        code, text = await refused(client, tool, **arguments)
        assert code == "long_term_disabled"
        assert text.endswith("Go on without long-term memory; an administrator can switch it on again.")
    await switch(on=True)
    assert len((await client.list_tools()).tools) == len(MANIFEST)
    assert "kept back" not in await contents(client, "kept back")
