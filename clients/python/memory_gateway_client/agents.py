"""Whose memory a call is about: the agent that it names, else the client's own, or no agent's."""


def one_agent(said: str | None, own: str | None) -> str:
    """Return the agent that the call names, else the client's own.

    Raises:
        ValueError: there is neither.
    """
    agent = own if said is None else said
    if agent is None:
        raise ValueError("No agent: say agent_id=, or give the client one (agent_id= or MEMORY_GATEWAY_AGENT).")
    return agent


def agent_or_every(said: str | None, own: str | None, *, every_agent: bool) -> str | None:
    """Return the agent that the call names, else the client's own; None is for every agent.

    Raises:
        ValueError: the call names one and wants every one.
    """
    if every_agent and said is not None:
        raise ValueError("Say agent_id= or every_agent=True, not both.")
    return None if every_agent else own if said is None else said


def owner(said: str | None, own: str | None, *, shared: bool) -> str | None:
    """Return the agent whose blob is meant; None: the tenant's own.

    Raises:
        ValueError: it is not said whose, or two are.
    """
    if shared and said is not None:
        raise ValueError("Say agent_id= or shared=True, not both.")
    return None if shared else one_agent(said, own)


def fact_owner(said: str | None, own: str | None, agent_type: str | None, *, shared: bool) -> str | None:
    """Return the agent whose facts are meant; None: those that agents of the type share.

    Raises:
        ValueError: it is not said whose, or two are.
    """
    if shared and (said is not None or agent_type is None):
        raise ValueError("Facts are shared by agents of a type: say agent_type= with shared=True, and no agent_id=.")
    no_agent = said is None and own is None and agent_type is not None
    return None if shared or no_agent else one_agent(said, own)


def agent_of_session(said: str | None, own: str | None, session_id: str | None) -> str | None:
    """Return the agent whose session is meant; None where no session is."""
    return own if session_id is not None and said is None else said
