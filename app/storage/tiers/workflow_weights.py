"""The weight of a workflow's outcomes for a caller: SQL that makes the posterior of the tallies of all authors.

The rule, with its numbers, is that of docs/decisions/0045-outcomes-have-authors.md. It is in SQL, so that all replicas
agree, and so that no request reads more than a bounded number of tallies.
"""

import json

from app.domain import limits
from app.ports.database import Row

_TALLIES = "tally.tenant_id = workflow.tenant_id AND tally.workflow_id = workflow.id"
_UNBOUNDED = "9e15"


def counts(agent: str) -> str:
    """Return the SQL expression of a workflow's posterior, a JSON list of alpha and beta, for ``counted`` to read.

    The posterior is the caller's: that of the credential ``?1 ->> 'by'``, for the agent whose id is the SQL expression
    ``agent``, or NULL. The expression is for a statement over ``workflow``.
    """
    own = f"coalesce(tally.author = 'agent' AND tally.agent_id = {agent} OR tally.written_by = ?1 ->> 'by', FALSE)"
    return f"""(
SELECT json_array(
  round(workflow.alpha + coalesce(sum(party.successes * party.weight / (party.successes + party.failures)), 0), 9),
  round(workflow.beta + coalesce(sum(party.failures * party.weight / (party.successes + party.failures)), 0), 9)
)
FROM (
  -- An agent that stands alone says nothing to others: it counts for no more than half of all the rest together.
  SELECT weighed.successes, weighed.failures, CASE
    WHEN weighed.alone
      THEN max(0, min(weighed.weight, (workflow.alpha + workflow.beta - 2 + weighed.rest) / 2))
    ELSE weighed.weight
  END AS weight
  FROM (
    SELECT max(tally.author = 'agent' AND NOT tally.own) AS alone,
      sum(tally.successes) AS successes, sum(tally.failures) AS failures,
      min(sum(tally.successes + tally.failures), max(tally.most)) AS weight,
      sum(sum(tally.successes + tally.failures)) OVER () - sum(tally.successes + tally.failures) AS rest
    FROM (
      SELECT tally.author, tally.successes, tally.failures, {own} AS own,
        iif(tally.author = 'agent', 'agent ' || tally.agent_id, 'credential ' || tally.written_by) AS party,
        CASE
          WHEN tally.author = 'admin' OR {own} THEN {_UNBOUNDED}
          WHEN tally.author = 'tenant' THEN {limits.WORKFLOW_WEIGHT_OF_TENANT}
          ELSE {limits.WORKFLOW_WEIGHT_OF_AGENT}
        END AS most
      FROM (
        SELECT * FROM (
          SELECT tally.* FROM workflow_tally AS tally INDEXED BY workflow_tally_newest
          WHERE {_TALLIES} ORDER BY tally.counted_at DESC LIMIT {limits.MAX_WORKFLOW_AUTHORS}
        )
        UNION
        SELECT tally.* FROM workflow_tally AS tally WHERE {_TALLIES} AND tally.written_by = ?1 ->> 'by'
        UNION
        SELECT tally.* FROM workflow_tally AS tally INDEXED BY workflow_tally_of_agent
        WHERE {_TALLIES} AND tally.agent_id = {agent} AND tally.author = 'agent'
      ) AS tally
    ) AS tally
    GROUP BY tally.party
  ) AS weighed
) AS party
)"""


def counted(row: Row) -> Row:
    """Return a row with the columns ``alpha`` and ``beta`` in place of ``counts``."""
    alpha, beta = json.loads(str(row["counts"]))
    return {**row, "alpha": alpha, "beta": beta}
