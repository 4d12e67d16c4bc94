"""Operations about what the weekly consolidation has merged. They may raise what the operations of ``calls`` raise."""

from memory_gateway_client.request import Call, given
from memory_gateway_client.tiers import consolidating_types as types


def consolidations(_own: str | None, /, *, limit: int = 1) -> Call[types.Consolidations]:
    """Return the last consolidations, newest first, as an administrator of all agents.

    Args:
        limit: How many at most, 1 to 100.
    """
    return Call("GET", "/consolidations", types.Consolidations, query={"limit": str(limit)})


def consolidation_dry_run(_own: str | None, /, *, agent_id: str | None = None) -> Call[types.ConsolidationForecast]:
    """Say what the next consolidation would merge of an agent's memories word for word, and change nothing.

    Args:
        agent_id: The agent, where that is not the client's.
    """
    body = given(agent_id=agent_id or _own)
    return Call("POST", "/consolidations/dry-run", types.ConsolidationForecast, body=body)


def undo_consolidation(
    _own: str | None, /, consolidation_id: str, *, dry_run: bool = True
) -> Call[types.ConsolidationUndone]:
    """Have all that a consolidation has merged hold again, as an administrator of all agents.

    It is not merged again by a later one.

    Args:
        consolidation_id: The consolidation.
        dry_run: Whether only to say what it would do.

    Raises:
        NotFound: there is no such consolidation.
        Unavailable: some may be taken back; calling again is safe.
    """
    body = given(consolidation_id=consolidation_id, dry_run=dry_run)
    return Call("POST", "/consolidations/undo", types.ConsolidationUndone, body=body)
