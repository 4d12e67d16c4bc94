"""A graph that remembers from one run to the next, with the tools and with the store.

::

    python -m memory_gateway_client.adapters.langgraph.example remember "The door code is 4711"
    python -m memory_gateway_client.adapters.langgraph.example ask "What is the door code?"

The service, the credential and the agent are MEMORY_GATEWAY_URL, MEMORY_GATEWAY_TOKEN and MEMORY_GATEWAY_AGENT. The
store reads by key: the credential is one for this agent alone, or an administrator's.
"""

import json
import sys

from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.langgraph import MemoryStore, memory_tools


class State(MessagesState):
    """The messages, and which conversation it is."""

    conversation: int


def count(state: State, runtime: Runtime[None]) -> dict[str, int]:  # noqa: ARG001 - a node takes it
    """Count the conversations, those of earlier processes too."""
    assert runtime.store is not None  # noqa: S101 - the graph is compiled with one
    item = runtime.store.get(("example",), "conversations")
    number = 1 if item is None else item.value["count"] + 1
    runtime.store.put(("example",), "conversations", {"count": number})
    return {"conversation": number}


def model(state: State) -> dict[str, list[AIMessage]]:
    """PUT YOUR MODEL HERE. This one needs no key: it follows a script."""
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(f"{_answer(last)} (This is our conversation {state['conversation']}.)")]}
    verb, _, said = last.text.partition(" ")
    name, argument = ("store_memory", "content") if verb == "remember" else ("recall_memory", "query")
    call = ToolCall(id="call-1", name=name, args={argument: said})
    return {"messages": [AIMessage("", tool_calls=[call])]}


def _answer(result: ToolMessage) -> str:
    if result.status == "error":
        return f"My memory failed. {result.text}"
    if result.name == "store_memory":
        return "I will remember it."
    said = [entry["content"] for entry in json.loads(result.text)["entries"]]
    return str(said[0]) if said else "I remember nothing of it."


def graph(client: MemoryClient) -> CompiledStateGraph[State, None, State, State]:
    """Return the graph: the conversation is counted, then the model answers with its tools."""
    building = StateGraph(State)
    building.add_node(count)
    building.add_node(model)
    building.add_node("tools", ToolNode(memory_tools(client)))
    building.add_edge(START, "count")
    building.add_edge("count", "model")
    building.add_conditional_edges("model", tools_condition)
    building.add_edge("tools", "model")
    return building.compile(store=MemoryStore(client))


def main(verb: str, said: str) -> None:
    """Let the model answer and print what it says."""
    with MemoryClient() as client:
        done = graph(client).invoke(State(messages=[HumanMessage(f"{verb} {said}")], conversation=0))
    print(done["messages"][-1].text)


if __name__ == "__main__":
    main(*sys.argv[1:])
