"""The operation that takes back what was taught. It may raise what the operations of ``calls`` raise."""

from memory_gateway_client.request import Call, given
from memory_gateway_client.tiers import undoing_types as types


def undo_learned(
    _own: str | None,
    /,
    *,
    run_id: str | None = None,
    session_id: str | None = None,
    agent_id: str | None = None,
    credential_id: str | None = None,
    dry_run: bool = True,
) -> Call[types.UndoneLearned]:
    """Take back what a run, a session or a credential has taught, as an administrator of all agents. Name one of them.

    What it had superseded holds again. Of a session the window goes too; runs, episodes and the rest of working memory
    stay.

    Args:
        run_id: What this run has taught.
        session_id: What was remembered of this session, and its window.
        agent_id: Whose session it is, where that is not the client's agent.
        credential_id: What this credential has written: it is revoked first.
        dry_run: Whether only to say what it would do.

    Raises:
        NotFound: there is no such run.
        InvalidRequest: none or several are named, or one has not its form.
        Unavailable: some may be taken back; calling again is safe.
    """
    of_session = session_id is not None and agent_id is None
    body = given(
        run_id=run_id,
        session_id=session_id,
        agent_id=_own if of_session else agent_id,
        credential_id=credential_id,
        dry_run=dry_run,
    )
    return Call("POST", "/undo", types.UndoneLearned, body=body)
