"""What a language model made of messages, in the answers of the routes that ingest conversations."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, Field

from app.domain.claim import MemoryType
from app.domain.learned import PassKind
from app.interfaces.fields import Answer
from app.storage.learning_report import MOST_TOLD, FailedPass, LearningReport

_EACH = f"The first {MOST_TOLD}; the counts are of all."
_WAITING: Mapping[str, str] = {"to_verify": "proposed", "to_learn": "verified"}


class LearningPasses(BaseModel):
    """Parts of the conversation, each of which the model reads at once."""

    done: int
    failed: int
    waiting: int


class LearningProposals(BaseModel):
    """Memories that the model has proposed, by what became of them."""

    to_verify: int = Field(description="Those that the model checks next.")
    to_learn: int = Field(description="Those that it has checked, and that are to be classified and written.")
    learned: int = Field(description="Those that are memories.")
    known: int = Field(description="Those that say what a memory said already.")
    corrected: int = Field(description="Of all, those that the model has corrected when it checked them.")
    dropped: int = Field(description="Those that their messages do not support, or that another one says.")
    failed: int = Field(description="Those for which the model, or the room for them, was missing.")
    superseded: int = Field(description="Memories that hold no longer, because of those that were learned.")


class UnreadPass(Answer):
    """A pass that was not read."""

    number: int
    kind: PassKind = Field(description="A full reading, or one for names, prices, versions and attributes.")
    message_ids: list[str]
    code: str = Field(description="A problem's code.")

    @classmethod
    def of(cls, each: FailedPass) -> "UnreadPass":
        """Make it of a pass that has failed."""
        ids = list(each.message_ids[each.context :])
        return cls(number=each.number, kind=each.kind, message_ids=ids, code=each.code or "")


class ProposedMemory(Answer):
    """A memory that the model has proposed."""

    content: str
    message_ids: list[str] = Field(description="The messages that it cites.")
    type: MemoryType | None = None
    topic: str | None = Field(None, description="What it is about: one of a topic holds at a time.")
    memory_id: str | None = Field(None, description="The memory that says it.")
    supersedes: list[str] = Field(description="Memories that hold no longer because of it.")
    corrected_from: str | None = Field(None, description="What it said before it was corrected.")
    reason: str | None = Field(None, description="Why it was corrected or dropped, or a problem's code if it failed.")


class LearningAnswer(BaseModel):
    """What a language model has made of the messages."""

    status: Literal["running", "done", "failed"] = Field(
        description="`failed`: it has ended, and something has failed. A retry of the operation finishes it."
    )
    passes: LearningPasses
    proposals: LearningProposals
    unread: list[UnreadPass] = Field(description=f"Passes that have failed. {_EACH}", max_length=MOST_TOLD)
    learned: list[ProposedMemory] = Field(description=_EACH, max_length=MOST_TOLD)
    known: list[ProposedMemory] = Field(description=_EACH, max_length=MOST_TOLD)
    corrected: list[ProposedMemory] = Field(description=_EACH, max_length=MOST_TOLD)
    dropped: list[ProposedMemory] = Field(description=_EACH, max_length=MOST_TOLD)
    failed: list[ProposedMemory] = Field(description=_EACH, max_length=MOST_TOLD)

    @classmethod
    def of(cls, report: LearningReport, *, running: bool) -> "LearningAnswer":
        """Make it of a report."""
        counts = report.counts
        passes = LearningPasses(**{state: counts.passes.get(state, 0) for state in LearningPasses.model_fields})
        by_state = {
            name: counts.proposals.get(_WAITING.get(name, name), 0) for name in LearningProposals.model_fields
        } | {"corrected": counts.corrected, "superseded": counts.superseded}
        proposals = LearningProposals(**by_state)
        is_left = passes.failed or passes.waiting or proposals.failed or proposals.to_verify or proposals.to_learn
        return cls.model_validate(
            {
                "status": "running" if running else "failed" if is_left else "done",
                "passes": passes,
                "proposals": proposals,
                "unread": [UnreadPass.of(failed) for failed in report.failed_passes],
                **report.told,
            }
        )
