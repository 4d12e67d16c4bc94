from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.local.hashing import HashingEmbedder
from app.adapters.prefixed import PrefixedEmbedder, Prefixes
from app.domain.embedding import EmbeddingConfig, Vector
from app.ports.embedder import Embeddings, Purpose
from app.services.tenant.caches import TenantCaches
from app.services.tenant.embedder import QueryCache, embed_queries
from app.services.tenant.tenant_cache import TenantCache

CONFIG = EmbeddingConfig("test", "four", 4)


def key(text: str, tenant: str = "acme", config: EmbeddingConfig = CONFIG) -> tuple[str, EmbeddingConfig, str]:
    return tenant, config, text


def put(cache: QueryCache, text: str) -> Vector:
    vector: Vector = np.ones(4, np.float32)
    cache.put("acme", key(text), vector, vector.nbytes + len(text.encode()) + 400)
    return vector


def test_a_vector_comes_back_only_for_its_tenant_config_and_text() -> None:
    cache: QueryCache = TenantCache(10_000)
    vector = put(cache, "text")
    assert cache.find(key("text")) is vector
    assert cache.find(key("text", tenant="other")) is None
    assert cache.find(key("text", config=EmbeddingConfig("test", "four", 5))) is None
    assert cache.find(key("other")) is None


async def test_a_query_of_a_model_with_prefixes_is_kept_apart_from_the_bare_model_s() -> None:
    cache: QueryCache = TenantCache(10_000)
    bare = HashingEmbedder()
    for embedder in (bare, PrefixedEmbedder(bare, Prefixes("query: ", "passage: ")), bare):
        (fresh,) = (await embedder.embed(["text"], "query")).vectors
        np.testing.assert_array_equal((await embed_queries("acme", ["text"], embedder, cache)).vectors[0], fresh)


def test_the_least_recently_used_goes_first() -> None:
    cache: QueryCache = TenantCache(900)
    for text in ("a", "b"):
        put(cache, text)
    cache.find(key("a"))
    put(cache, "c")
    assert [cache.find(key(text)) is not None for text in ("a", "b", "c")] == [True, False, True]


def test_a_budget_of_nothing_keeps_nothing() -> None:
    cache: QueryCache = TenantCache(0)
    put(cache, "a")
    assert (cache.find(key("a")), cache.held) == (None, 0)


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=300)), max_size=60), st.integers(0, 4000))
def test_the_budget_is_never_exceeded_and_the_count_stays_right(steps: list[tuple[bool, str]], budget: int) -> None:
    cache: QueryCache = TenantCache(budget)
    for puts, text in steps:
        if puts:
            put(cache, text)
        else:
            cache.find(key(text))
        assert 0 <= cache.held <= budget
    texts = {text for puts, text in steps if puts}
    found = [text for text in texts if cache.find(key(text)) is not None]
    assert bool(found) == bool(cache.held)


async def test_a_query_that_is_embedded_while_its_tenant_is_erased_is_not_kept() -> None:
    cache: QueryCache = TenantCache(10_000)

    class ErasedMeanwhile(HashingEmbedder):
        async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
            TenantCaches(queries=cache).seen("acme", 1)
            return await super().embed(texts, purpose, tenant_id=tenant_id)

    for embedder, is_kept in ((ErasedMeanwhile(), False), (HashingEmbedder(), True)):
        embedded = await embed_queries("acme", ["text"], embedder, cache)
        assert (len(embedded.vectors), cache.held > 0) == (1, is_kept)
