"""Embeds for the config that is kept up to date beside the active one, while the data moves to it."""

from collections.abc import Mapping, Sequence

from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.errors import Unavailable
from app.indexing.delivery import deferred
from app.services.backends import TenantBackends


async def shadow_vectors(
    backends: TenantBackends, texts: Sequence[str], config: EmbeddingConfig | None
) -> Sequence[Mapping[str, Vector]]:
    """Return for each text its vector by the config's index; none where there is no such config, or where it fails.

    What is left out is copied later.
    """
    if config is None:
        return [{} for _ in texts]
    try:
        embedded = await backends.embedder_of(config).embed(texts, "document")
    except Unavailable as error:
        deferred("shadow", error)
        return [{} for _ in texts]
    return [{config.index_name: vector} for vector in embedded.vectors]
