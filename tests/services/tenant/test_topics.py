"""The topics of agents are remembered for a while, for whoever they belong to, within a budget."""

from app.domain.memory import Scope
from app.services.tenant.caches import TenantCaches
from app.services.tenant.tenant_cache import TenantCache
from app.services.tenant.topics import HOLDS_MS, SHOWN, TopicCache, nearest, remember

ANN, BOB, OTHER = Scope("acme", "ann"), Scope("acme", "bob"), Scope("other", "ann")
TEN_MINUTES = 600_000


def test_topics_are_given_to_their_agent_for_ten_minutes() -> None:
    cache: TopicCache = TenantCache(10_000, HOLDS_MS)
    remember(cache, ANN, ["home", "diet"], 0, since=cache.changes)
    assert cache.find(ANN, TEN_MINUTES - 1) == ["home", "diet"]
    assert [cache.find(ANN, TEN_MINUTES), cache.find(BOB, 0), cache.find(OTHER, 0)] == [None] * 3


def test_what_is_read_again_takes_the_place_of_what_was_kept() -> None:
    cache: TopicCache = TenantCache(10_000, HOLDS_MS)
    remember(cache, ANN, ["home"], 0, since=cache.changes)
    remember(cache, ANN, [], 1, since=cache.changes)
    assert cache.find(ANN, 2) is None


def test_the_least_recently_used_topics_make_room() -> None:
    cache: TopicCache = TenantCache(1_000, HOLDS_MS)
    remember(cache, ANN, ["home"], 0, since=cache.changes)
    remember(cache, BOB, ["home"], 0, since=cache.changes)
    cache.find(ANN, 0)
    remember(cache, OTHER, ["home"], 0, since=cache.changes)
    assert (cache.find(ANN, 0), cache.find(BOB, 0), cache.find(OTHER, 0)) == (["home"], None, ["home"])
    remember(cache, ANN, ["x" * 64] * 200, 0, since=cache.changes)
    assert cache.find(ANN, 0) is None


def test_an_erasure_drops_the_topics_of_its_tenant() -> None:
    cache: TopicCache = TenantCache(10_000, HOLDS_MS)
    remember(cache, ANN, ["home"], 0, since=cache.changes)
    remember(cache, OTHER, ["home"], 0, since=cache.changes)
    caches = TenantCaches(topics=cache)
    caches.seen("acme", 0)
    assert cache.find(ANN, 0) == ["home"]
    caches.seen("acme", 1)
    assert (cache.find(ANN, 0), cache.find(OTHER, 0)) == (None, ["home"])


def test_a_model_is_shown_the_topics_nearest_to_the_query_and_then_the_newest() -> None:
    topics = [f"topic_{number}" for number in range(100)] + ["user_favourite_food"]
    shown = nearest(topics, "What are the user's favourites?")
    assert shown == ["user_favourite_food", *topics[: SHOWN - 1]]


def test_topics_that_were_read_before_an_erasure_are_not_kept_after_it() -> None:
    cache: TopicCache = TenantCache(10_000, HOLDS_MS)
    before = cache.changes
    TenantCaches(topics=cache).seen("acme", 1)
    remember(cache, ANN, ["home"], 0, since=before)
    assert cache.find(ANN, 0) is None
    remember(cache, ANN, ["diet"], 0, since=cache.changes)
    assert cache.find(ANN, 0) == ["diet"]
