"""A language model whose words are screened, as those of a caller are."""

from collections.abc import Callable, Sequence

from app.domain.stages import Stage
from app.ports.language_model import LanguageModel, ModelMessage, Schema, Spent, T
from app.services.tenant.screening import Screening


class ScreenedLanguageModel:
    """Masks what should not be kept in the answers of a model. Implements ``LanguageModel``."""

    def __init__(self, model: LanguageModel, screening: Screening) -> None:
        """Take the model, and the rule of the request."""
        self._model = model
        self._screening = screening.without_caller()

    def name(self, stage: Stage) -> str:
        """Return the name of a stage's model; see ``LanguageModel.name``."""
        return self._model.name(stage)

    async def complete(
        self,
        messages: Sequence[ModelMessage],
        schema: Schema[T],
        *,
        stage: Stage,
        max_tokens: int,
        affinity: str,
        seconds: float | None = None,
        spent: Callable[[Spent], None] | None = None,
    ) -> T:
        """Return the answer, masked where the settings say so; see ``LanguageModel.complete``."""
        answer = await self._model.complete(
            messages, schema, stage=stage, max_tokens=max_tokens, affinity=affinity, seconds=seconds, spent=spent
        )
        return await self._screening.of(answer)

    async def ping(self) -> None:
        """Return if the model answers; see ``LanguageModel.ping``."""
        await self._model.ping()
