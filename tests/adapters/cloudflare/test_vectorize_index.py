"""What a Vectorize index tells of itself: how far it is, and whether it is made for this service."""

from typing import Any

import pytest
import respx

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.vectorize import VectorizeIndex
from app.domain.errors import IndexNotProvisioned, UpstreamRejected
from tests.adapters.cloudflare.vectors import CONFIG, FILTERABLE, INDEX
from tests.adapters.cloudflare.wire import DATE_MS, answer, refusal

INFO, LIST = f"{INDEX}/info", f"{INDEX}/metadata_index/list"
DECLARED = {
    "tenant_id": "string",
    "agent_id": "string",
    "created_at": "number",
    "text": "string",
    "number": "number",
    "flag": "boolean",
}


def info(processed: str | None = None, dimensions: int | None = 4) -> Any:
    told = {"dimensions": dimensions, "vectorCount": 0, "processedUpToDatetime": processed}
    return answer({key: value for key, value in told.items() if value is not None})


def declared(**types: str) -> Any:
    return answer({"metadataIndexes": [{"propertyName": key, "indexType": kind} for key, kind in types.items()]})


def without(*keys: str) -> dict[str, str]:
    return {key: kind for key, kind in DECLARED.items() if key not in keys}


@pytest.mark.parametrize(
    ("processed", "mark"),
    [
        ("2026-11-20T10:00:00Z", DATE_MS - 120_000),
        ("2026-11-20T10:00:00.123456Z", DATE_MS + 123 - 120_000),
        ("2026-11-20T10:00:00.123456789Z", DATE_MS + 123 - 120_000),
        ("2026-11-20T11:00:00+01:00", DATE_MS - 120_000),
        ("1970-01-01T00:00:30Z", 0),
        (None, 0),
        ("", 0),
    ],
)
async def test_the_watermark_is_the_indexs_mark_less_a_margin(
    api: respx.MockRouter, index: VectorizeIndex, processed: str | None, mark: int
) -> None:
    api.get(INFO).mock(return_value=info(processed))
    assert await index.watermark() == mark


async def test_an_index_that_tells_nothing_of_itself_shows_nothing(
    api: respx.MockRouter, index: VectorizeIndex
) -> None:
    api.get(INFO).mock(return_value=answer(None))
    assert await index.watermark() == 0


@pytest.mark.parametrize("processed", ["soon", "2026-11-20 10:00:00", 1_795_168_800])
async def test_a_mark_that_cannot_be_read_is_an_error_of_the_tree(
    api: respx.MockRouter, index: VectorizeIndex, processed: Any
) -> None:
    api.get(INFO).mock(return_value=info(processed))
    with pytest.raises(UpstreamRejected):
        await index.watermark()


async def test_an_index_made_for_the_service_passes(api: respx.MockRouter, index: VectorizeIndex) -> None:
    api.get(INFO).mock(return_value=info())
    api.get(LIST).mock(return_value=declared(**DECLARED, more="string"))
    await index.check()
    await index.ping()
    assert await index.metadata_indexes() == DECLARED | {"more": "string"}


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (without("tenant_id"), "of tenant_id (string)."),
        (without("agent_id"), "of agent_id (string)."),
        (without("created_at"), "of created_at (number)."),
        (without("text", "flag"), "of flag (boolean), text (string)."),
        (DECLARED | {"created_at": "string"}, "of created_at (number)."),
        (DECLARED | {"number": "boolean"}, "of number (number)."),
        ({}, "of agent_id (string), created_at (number), flag (boolean), number (number), tenant_id (string), text"),
    ],
)
async def test_an_index_without_a_metadata_index_of_the_right_type_does_not_pass(
    api: respx.MockRouter, index: VectorizeIndex, there: dict[str, str], said: str
) -> None:
    api.get(INFO).mock(return_value=info())
    api.get(LIST).mock(return_value=declared(**there))
    with pytest.raises(IndexNotProvisioned) as caught:
        await index.check()
    assert said in caught.value.detail
    assert "memory-gateway provision" in caught.value.detail


async def test_a_shard_s_index_that_is_lost_is_made_again_by_the_command_that_knows_the_shards(
    api: respx.MockRouter, client: CloudflareClient
) -> None:
    index = VectorizeIndex(client, CONFIG, filterable=FILTERABLE, name=CONFIG.index_name_in("east"))
    path = INFO.replace(CONFIG.index_name, index.name)
    api.get(path).mock(side_effect=[refusal(404, 3000, "vectorize.index.not_found"), info()])
    api.get(path.replace("info", "metadata_index/list")).mock(return_value=declared(**without("text")))
    for _ in range(2):
        with pytest.raises(IndexNotProvisioned) as caught:
            await index.check()
        assert "memory-gateway rebuild" in caught.value.detail
        assert "provision" not in caught.value.detail


@pytest.mark.parametrize(("dimensions", "said"), [(8, "has 8 dimensions"), (None, "has None dimensions")])
async def test_an_index_of_other_dimensions_does_not_pass(
    api: respx.MockRouter, index: VectorizeIndex, dimensions: int | None, said: str
) -> None:
    api.get(INFO).mock(return_value=info(dimensions=dimensions))
    with pytest.raises(IndexNotProvisioned) as caught:
        await index.check()
    assert said in caught.value.detail
    assert CONFIG.index_name in caught.value.detail


async def test_an_absent_index_does_not_pass(api: respx.MockRouter, index: VectorizeIndex) -> None:
    api.get(INFO).mock(return_value=refusal(404, 3000, "vectorize.index.not_found"))
    with pytest.raises(IndexNotProvisioned, match="does not exist") as caught:
        await index.check()
    assert caught.value.retry_after == 60


@pytest.mark.parametrize("result", [None, {}, {"metadataIndexes": None}, {"metadataIndexes": [{"propertyName": "a"}]}])
async def test_a_list_that_cannot_be_read_is_an_error_of_the_tree(
    api: respx.MockRouter, index: VectorizeIndex, result: Any
) -> None:
    api.get(LIST).mock(return_value=answer(result))
    with pytest.raises(UpstreamRejected):
        await index.metadata_indexes()
