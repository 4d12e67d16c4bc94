"""The map of the calls is one: in README, in the OpenAPI document and in ``llms.txt``."""

from pathlib import Path

from app.interfaces.http import which_call
from tests.support.service import Service

README = Path(__file__).parents[3] / "README.md"


async def test_the_tags_come_in_the_order_of_the_map_and_every_operation_has_one(shared_service: Service) -> None:
    document = (await shared_service.client.get("/openapi.json")).json()
    names = [tag["name"] for tag in document["tags"]]
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    used = {tag for operation in operations for tag in operation["tags"]}
    assert set(names) == used
    assert names[:3] == ["memory", "profiles", "tools"]
    assert names[-5:-1] == ["transfer", "archive", "audit", "operations"]
    assert all(tag["description"] for tag in document["tags"])


async def test_every_call_of_the_map_is_there_and_stands_with_its_tag(shared_service: Service) -> None:
    document = (await shared_service.client.get("/openapi.json")).json()
    described = {tag["name"]: tag["description"] for tag in document["tags"]}
    for row in which_call.CALLS:
        for call in row.call.split(", "):
            method, path = call.split()
            assert method.lower() in document["paths"][path], call
            assert f"`{call}`" in described[row.tag]


async def test_readme_and_llms_txt_have_the_map(shared_service: Service) -> None:
    # To bring README up to date: put what which_call.table() returns in its place.
    assert which_call.table() in README.read_text("utf-8")
    text = (await shared_service.client.get("/llms.txt")).text
    assert which_call.lines() in text
    assert all(f"`{call}`" in text for row in which_call.CALLS for call in row.call.split(", "))
