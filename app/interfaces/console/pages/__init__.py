"""The pages of the console, in the order of the menu. A page is a module here and a template of its name."""

from collections.abc import Sequence
from typing import Final

from app.interfaces.console.page import ConsolePage
from app.interfaces.console.pages import (
    acts,
    agents,
    credentials,
    facts,
    ingestion,
    memories,
    operations,
    overview,
    runs,
    search,
    session_start,
    undo,
    usage,
    workflows,
)

HOME: Final = overview.page
"""The page that is shown first."""
FIRST_WITHOUT_LISTS: Final = search.page
"""The page that is shown first to whom no memories are listed."""
PICK: Final = agents.page
"""The page where an agent is picked, for a page that is about one."""
PAGES: Final[Sequence[ConsolePage]] = (
    overview.page,
    search.page,
    memories.page,
    session_start.page,
    undo.page,
    facts.page,
    workflows.page,
    runs.page,
    ingestion.page,
    operations.page,
    usage.page,
    acts.page,
    credentials.page,
    agents.page,
)
