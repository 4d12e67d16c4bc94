"""The conversations and questions of the command ``eval``, by the names that programs of this folder have for them."""

from app.interfaces.cli.evaluation.dataset import DataInvalid, chosen, read
from app.interfaces.cli.evaluation.dataset import SetConversation as Conversation
from app.interfaces.cli.evaluation.dataset import SetQuestion as Question
from app.interfaces.cli.evaluation.dataset import ToldMemory as Memory

__all__ = ["Conversation", "DataInvalid", "Memory", "Question", "chosen", "read"]
