"""The topics of agents are remembered for a while, for whoever they belong to, within a budget."""

from app.domain.memory import Scope
from app.services.answering.topics import SHOWN, TopicCache, nearest

ANN, BOB, OTHER = Scope("acme", "ann"), Scope("acme", "bob"), Scope("other", "ann")
TEN_MINUTES = 600_000


def test_topics_are_given_to_their_agent_for_ten_minutes() -> None:
    cache = TopicCache(10_000)
    cache.put(ANN, ["home", "diet"], 0)
    assert cache.get(ANN, TEN_MINUTES - 1) == ["home", "diet"]
    assert cache.get(ANN, TEN_MINUTES) == cache.get(BOB, 0) == cache.get(OTHER, 0) == []


def test_what_is_read_again_takes_the_place_of_what_was_kept() -> None:
    cache = TopicCache(10_000)
    cache.put(ANN, ["home"], 0)
    cache.put(ANN, [], 1)
    assert cache.get(ANN, 2) == []


def test_the_least_recently_used_topics_make_room() -> None:
    cache = TopicCache(1_000)
    cache.put(ANN, ["home"], 0)
    cache.put(BOB, ["home"], 0)
    cache.get(ANN, 0)
    cache.put(OTHER, ["home"], 0)
    assert (cache.get(ANN, 0), cache.get(BOB, 0), cache.get(OTHER, 0)) == (["home"], [], ["home"])
    cache.put(ANN, ["x" * 64] * 200, 0)
    assert cache.get(ANN, 0) == []


def test_an_erasure_drops_the_topics_of_its_tenant() -> None:
    cache = TopicCache(10_000)
    cache.put(ANN, ["home"], 0)
    cache.put(OTHER, ["home"], 0)
    cache.seen("acme", 0)
    assert cache.get(ANN, 0) == ["home"]
    cache.seen("acme", 1)
    assert (cache.get(ANN, 0), cache.get(OTHER, 0)) == ([], ["home"])


def test_a_model_is_shown_the_topics_nearest_to_the_query_and_then_the_newest() -> None:
    topics = [f"topic_{number}" for number in range(100)] + ["user_favourite_food"]
    shown = nearest(topics, "What are the user's favourites?")
    assert shown == ["user_favourite_food", *topics[: SHOWN - 1]]
