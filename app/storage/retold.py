"""Facts with several sources: an undo of the first source leaves a fact to the surest of the others.

The other sources were noted when they told the fact (``schema.sql``).
"""

from app.domain.facts import DOUBTFUL_BELOW, MOST_DOUBTFUL

_OF_CREDENTIAL = "noted.written_by IS NOT ?1 ->> 'written_by'"
# The source of a memory that was stored under a run is its author.
_OF_RUN = """
noted.source <> 'run:' || (?1 ->> 'run_id') AND NOT (
  memory.run_id IS ?1 ->> 'run_id'
  AND noted.source = 'author:' || coalesce(memory.written_by, memory.written_through, '')
)
"""
_OTHERS = """
noted.tenant_id = ?1 ->> 'tenant_id' AND noted.agent_id = memory.agent_id AND noted.memory_id = memory.id
  AND {others}
"""
_IS_FACT = "json_type(memory.metadata, '$.fact') IS 'object'"
# Metadata keys that other credentials have added stay; those of the credential or run that is undone go.
_OWN_KEYS = """
(
  SELECT json_group_object(own.key, NULL) FROM json_each(memory.metadata) AS own
  WHERE own.key <> 'fact' AND own.key NOT IN (SELECT later.key FROM json_each(memory.later_keys) AS later)
)
"""


def told_by_others(*, of_run: bool) -> str:
    """Return a boolean SQL expression: ``memory`` is a fact that has a source beside the run, or the credential."""
    others = f"SELECT 1 FROM fact_source AS noted WHERE {_others(of_run=of_run)}"
    return f"({_IS_FACT} AND EXISTS ({others}))"


def hand_over(retold: str, *, of_run: bool) -> list[str]:
    """Return the statements that leave facts to the surest of their other sources; the first one writes the audit.

    ``retold`` is a query for the ``id`` of each fact.
    """
    undone = "'run_id', ?1 ->> 'run_id'" if of_run else "'of', ?1 ->> 'written_by'"
    sure = f"memory.metadata ->> '$.fact.confidence' >= {DOUBTFUL_BELOW}"
    return [
        f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'undone', json_object({undone}, 'told_by_others', json('true')),
  ?1 ->> 'now', ?1 ->> 'by'
FROM long_term_memory AS memory WHERE +memory.tenant_id = ?1 ->> 'tenant_id' AND memory.id IN ({retold})
""",
        f"""
UPDATE long_term_memory AS memory SET (written_by, metadata, later_keys, run_id) = (
  SELECT noted.written_by, json_set(
      json_patch(json_patch(memory.metadata, {_OWN_KEYS}), '{{"fact": {{"agent_type": null, "fact_id": null}}}}'),
      '$.fact.confidence',
      iif({sure}, max({DOUBTFUL_BELOW}, noted.confidence), min({MOST_DOUBTFUL}, noted.confidence)),
      '$.fact.learned_from_run_id', iif(noted.source GLOB 'run:*', substr(noted.source, 5), NULL)
    ), json_remove(memory.later_keys, '$.fact'), NULL
  FROM fact_source AS noted WHERE {_others(of_run=of_run)}
  ORDER BY noted.confidence DESC, noted.source LIMIT 1
)
WHERE +memory.tenant_id = ?1 ->> 'tenant_id' AND memory.id IN ({retold})
""",
    ]


def _others(*, of_run: bool) -> str:
    return _OTHERS.format(others=_OF_RUN if of_run else _OF_CREDENTIAL)
