"""Keeps the cosine scale of each embedding config: it is measured once, by whichever process comes first."""

from collections.abc import Sequence

from app.domain.embedding import CosineScale, EmbeddingConfig
from app.ports.database import Row, Statement
from app.storage.rows import read_row

_READ = """
SELECT scale.unrelated, scale.spread, scale.related FROM cosine_scale AS scale
WHERE scale.index_name = ?1 ->> 'index_name' AND scale.probes = ?1 ->> 'probes'
"""
_WRITE = """
INSERT INTO cosine_scale (index_name, probes, unrelated, spread, related)
VALUES (?1 ->> 'index_name', ?1 ->> 'probes', ?1 ->> 'unrelated', ?1 ->> 'spread', ?1 ->> 'related')
ON CONFLICT (index_name, probes) DO UPDATE SET
  unrelated = excluded.unrelated, spread = excluded.spread, related = excluded.related
"""


def read(config: EmbeddingConfig, probes: str) -> Statement:
    """Read the config's scale as it was measured with these probes; ``scale_of`` reads the rows."""
    return Statement.read(_READ, index_name=config.index_name, probes=probes)


def scale_of(rows: Sequence[Row]) -> CosineScale | None:
    """Return the scale that was read; None where there is none."""
    return read_row(CosineScale, rows[0]) if rows else None


def write(config: EmbeddingConfig, probes: str, scale: CosineScale) -> Statement:
    """Keep the config's scale as it was measured with these probes."""
    return Statement.write(
        _WRITE,
        index_name=config.index_name,
        probes=probes,
        unrelated=scale.unrelated,
        spread=scale.spread,
        related=scale.related,
    )
