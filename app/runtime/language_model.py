"""Writes the cost of calls of the language model, and warns of a model that does not answer."""

from dataclasses import astuple

import structlog

from app.domain.errors import Unavailable
from app.ports.language_model import STAGES, LanguageModel
from app.runtime.backends import Backends
from app.services.models.spend import DAY_MS
from app.storage.system import model_spend

WRITE_SECONDS = 30.0
"""The pause between two writings of the cost of calls."""


async def write_spend(backends: Backends) -> None:
    """Write the cost of calls since the last time, and read today's cost of the calls of all processes.

    No call of the database is made where there is no cost to write and no limit to hold.

    Raises:
        Unavailable: the database does not answer; the cost is written the next time.
    """
    spend, day = backends.model_spend, backends.clock() // DAY_MS
    taken, tenants = spend.take(), spend.asking()
    if not taken and not tenants:
        return
    statements = [model_spend.add([astuple(each) for each in taken])] if taken else []
    try:
        *_, rows = await backends.database.run([*statements, model_spend.totals(day, tenants)])
    except BaseException:
        spend.restore(taken)
        raise
    spend.read(day, dict.fromkeys(tenants, (0, 0)) | model_spend.read_totals(rows))


async def name_missing_models(model: LanguageModel) -> None:
    """Warn in the log where a stage's model does not answer: the service goes on without the model."""
    try:
        await model.ping()
    except Unavailable as error:
        structlog.get_logger().warning("language_model_away", code=error.code, reason=error.detail)


def model_names(model: LanguageModel) -> str:
    """Return the names of all stages' models, each once."""
    return ", ".join(dict.fromkeys(model.name(stage) for stage in STAGES))
