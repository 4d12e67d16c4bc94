"""Who asks for a thing by its number finds it before all others of its kind, whatever numbers stand in these."""

from pathlib import Path

import pytest

from tests.support.service import serving


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (
            "what is the latency of server 2?",
            ["In phase 2 the latency of server 2 was 20 ms", "In phase 2 the latency of server 3 was 30 ms"],
        ),
        (
            "what is the rent of room 4?",
            ["In room 4 of building 4 the rent is 400 euros", "In room 5 of building 4 the rent is 500 euros"],
        ),
        (
            "what is the accuracy of model 1?",
            [f"Run 1-{n}: the accuracy of model {n} is 9{n} percent" for n in range(1, 9)],
        ),
        (
            "what is the colour of item number 0?",
            [
                f"fact 0-{n}: the colour of item number {n} is {colour}"
                for n, colour in enumerate(["red", "blue", "green"])
            ],
        ),
    ],
)
async def test_the_thing_that_is_asked_for_comes_before_those_told_of_later(
    tmp_path: Path, query: str, rows: list[str]
) -> None:
    async with serving(tmp_path) as service:
        for row in rows:
            await service.store(row)
        assert (await service.contents(query, top_k=3))[0] == rows[0]
