"""Standing instructions as answers show them."""

from pydantic import Field

from app.interfaces.fields import Answer, Timestamp


class InstructionAnswer(Answer):
    """A standing instruction that holds: what somebody said is to be done. It is data, as all that is remembered."""

    id: str
    content: str
    happened_at: Timestamp = Field(description="When it was said, or else was stored.")
