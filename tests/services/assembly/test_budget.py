"""Which pieces of an agent's context fit into its budget."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from app.services.assembly.budget import PARTS, WEIGHTS, Fitted, Offer, Part, Piece, fit

COSTS = st.lists(st.integers(1, 40), max_size=8)
OFFERS = st.dictionaries(st.sampled_from(PARTS), st.tuples(COSTS, st.booleans(), st.booleans()))


def offer(part: Part, *costs: int, unbroken: bool = False, newest_first: bool = False) -> Offer:
    pieces = [Piece(part, f"{part}/{number}", "x", cost) for number, cost in enumerate(costs)]
    return Offer(pieces, unbroken=unbroken, newest_first=newest_first)


def sources(fitted: Fitted) -> list[str]:
    return [piece.source for piece in fitted.pieces]


def test_what_fits_is_given_whole_in_the_order_in_which_a_model_reads_it() -> None:
    offers: Mapping[Part, Offer] = {
        "window": offer("window", 1, 1, newest_first=True),
        "facts": offer("facts", 1, 1),
        "shared_context": offer("shared_context", 1),
    }
    assert sources(fit(offers, 100)) == ["shared_context/0", "facts/0", "facts/1", "window/1", "window/0"]


def test_no_part_crowds_out_another_within_its_share() -> None:
    offers: Mapping[Part, Offer] = {"window": offer("window", *[10] * 50), "workflow": offer("workflow", 10)}
    assert "workflow/0" in sources(fit(offers, 100))


def test_what_a_part_does_not_use_goes_to_the_others() -> None:
    offers: Mapping[Part, Offer] = {"window": offer("window", *[10] * 50), "facts": offer("facts", 10)}
    fitted = fit(offers, 100)
    assert fitted.tokens == 100
    assert fitted.left_out == {"window": 41}


def test_a_conversation_has_no_gap() -> None:
    offers: Mapping[Part, Offer] = {"window": offer("window", 10, 90, 10, unbroken=True, newest_first=True)}
    assert sources(fit(offers, 50)) == ["window/0"]


def test_behind_a_piece_that_is_too_long_a_shorter_one_may_fit() -> None:
    assert sources(fit({"facts": offer("facts", 90, 10)}, 50)) == ["facts/1"]


@given(OFFERS, st.integers(0, 200))
def test_never_more_than_the_budget_and_nothing_twice_or_invented(
    offered: dict[Part, tuple[list[int], bool, bool]], most: int
) -> None:
    offers = {
        part: offer(part, *costs, unbroken=unbroken, newest_first=newest_first)
        for part, (costs, unbroken, newest_first) in offered.items()
    }
    fitted = fit(offers, most)
    assert fitted.tokens <= most
    given_pieces = [piece for each in offers.values() for piece in each.pieces]
    assert len(set(sources(fitted))) == len(fitted.pieces)
    assert set(fitted.pieces) <= set(given_pieces)
    assert len(fitted.pieces) + sum(fitted.left_out.values()) == len(given_pieces)
    assert [piece.part for piece in fitted.pieces] == sorted((piece.part for piece in fitted.pieces), key=PARTS.index)


@given(OFFERS, st.integers(0, 200))
def test_what_is_left_out_of_an_unbroken_part_is_its_end(
    offered: dict[Part, tuple[list[int], bool, bool]], most: int
) -> None:
    offers = {part: offer(part, *costs, unbroken=True) for part, (costs, _, _) in offered.items()}
    fitted = fit(offers, most)
    for part in offers:
        taken = [piece.source for piece in fitted.pieces if piece.part == part]
        assert taken == [piece.source for piece in offers[part].pieces][: len(taken)]


def test_every_part_has_a_weight() -> None:
    assert set(WEIGHTS) == set(PARTS)


def test_a_piece_costs_its_source_and_its_content() -> None:
    assert Piece.of("facts", "four", "12345678").tokens == 3
