"""The context of a turn, over HTTP."""

from tests.support.service import Service


async def test_what_was_fetched_before_the_turn_has_a_field_that_is_empty_unless_something_is_asked(
    service: Service,
) -> None:
    await service.client.put(
        "/context/style", json={"content": "Never promise a date."}, headers=service.credential(admin=True)
    )
    await service.store("The customer lives in Oslo")
    body = {"agent_id": "bot", "query": "Where does the customer live?"}
    unasked, switched_off = {"agent_id": "bot"}, body | {"prefetch": False}
    plain, also_plain = [(await service.post("/context/assemble", each)).json() for each in (unasked, switched_off)]
    fetched, also = [
        (await service.post("/context/assemble", each)).json() for each in (body, body | {"prefetch": True})
    ]
    assert (also_plain, also) == (plain, fetched)
    assert plain["long_term"] == {"retrieved": []}
    assert [piece["content"] for piece in fetched["long_term"]["retrieved"]] == ["The customer lives in Oslo"]
    assert fetched["pieces"] == plain["pieces"] != []
