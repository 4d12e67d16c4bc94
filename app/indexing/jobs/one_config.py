"""The embedding config that two shards need in common to exchange a tenant."""

from app.domain.embedding import EmbeddingConfigs
from app.domain.errors import Conflict
from app.indexing.jobs.carry import MoveSide
from app.storage import embedding_configs


async def one_config(source: MoveSide, target: MoveSide) -> EmbeddingConfigs:
    """Return the embedding config of both shards; a target that has no memory yet takes the source's config.

    Raises:
        Conflict: the shards have different configs, or a re-embedding is under way in one of them.
    """
    ours = await embedding_configs.current(source.database)
    theirs = await embedding_configs.current(target.database)
    if ours is None:  # the source has no memory to carry: any config will do
        return theirs or await embedding_configs.prepared(target.database)
    if theirs is None:
        theirs = await embedding_configs.claim(target.database, ours.active)
    if ours.shadow is not None or theirs.shadow is not None:
        raise Conflict("A re-embedding is under way. Finish it in both shards, then move the tenant.")
    if ours.active != theirs.active:
        raise Conflict(
            f"The shard {source.shard} is embedded with {ours.active}, {target.shard} with {theirs.active}. "
            "Re-embed one of them first."
        )
    return ours
