"""Which tools an agent is given: one set or the other, never both."""

from collections.abc import Mapping, Sequence

from app.interfaces.tools.definition import Tool
from app.interfaces.tools.profile_tools import PROFILE
from app.interfaces.tools.recall_store import RECALL_STORE
from app.storage.agents import DEFAULT_TOOLS, ToolSet

SETS: Mapping[ToolSet, Sequence[Tool]] = {"recall_store": RECALL_STORE, "profile": PROFILE}
"""The tools by what ``PUT /agents/{agent_id}`` calls them. No name is in both."""

SET_OF: Mapping[str, ToolSet] = {tool.name: name for name, tools in SETS.items() for tool in tools}
"""The set that a tool of this name is in."""

ALL_TOOLS = tuple(tool for tools in SETS.values() for tool in tools)

DEFAULT = SETS[DEFAULT_TOOLS]
"""The tools of an agent of which nothing is set, and of a caller of whom no agent is known."""

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in ALL_TOOLS}
"""Every tool by its name."""
