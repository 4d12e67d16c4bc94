"""Who wrote a memory, as answers tell it."""

from pydantic import Field

from app.interfaces.fields import Answer, Timestamp

WRITTEN_BY = (
    "Who wrote it, as the credential says and no field of a request does; absent for what was written before this was "
    "kept."
)


class SourceAnswer(Answer):
    """Who wrote a memory."""

    channel: str = Field(description="`http`, `mcp`, `import`, or `command`: an operator.")
    credential_id: str | None = Field(
        None, description="The credential's id, its claim `jti`.", exclude_if=lambda value: value is None
    )
    written_at: Timestamp
