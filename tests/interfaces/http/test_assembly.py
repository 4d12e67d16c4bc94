"""The context of a turn, over HTTP."""

from tests.support.service import Service


async def test_what_was_fetched_before_the_turn_has_a_field_that_is_empty_unless_that_is_asked_for(
    service: Service,
) -> None:
    await service.client.put(
        "/context/style", json={"content": "Never promise a date."}, headers=service.credential(admin=True)
    )
    await service.store("The customer lives in Oslo")
    body = {"agent_id": "bot", "query": "Where does the customer live?"}
    plain = (await service.post("/context/assemble", body)).json()
    fetched = (await service.post("/context/assemble", body | {"prefetch": True})).json()
    assert plain["long_term"] == {"retrieved": []}
    assert [piece["content"] for piece in fetched["long_term"]["retrieved"]] == ["The customer lives in Oslo"]
    assert fetched["pieces"] == plain["pieces"] != []
