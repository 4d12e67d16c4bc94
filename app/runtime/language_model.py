"""What the process does for its language model: it keeps what calls have cost, and names a model that is gone."""

from dataclasses import astuple

import structlog

from app.domain.errors import Unavailable
from app.ports.language_model import STAGES, LanguageModel
from app.runtime.backends import Backends
from app.services.models.spend import DAY_MS
from app.storage.system import model_spend

WRITE_SECONDS = 30.0
"""Between two writings of what calls have cost."""


async def write_spend(backends: Backends) -> None:
    """Write what calls have cost since the last time, and read what those of all processes have cost today.

    There is no call where there is nothing to write, and no limit to hold.

    Raises:
        Unavailable: the database does not answer; what was to be written is written the next time.
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
    """Warn in the log where a stage's model does not answer: the service works without, as far as it goes."""
    try:
        await model.ping()
    except Unavailable as error:
        structlog.get_logger().warning("language_model_away", code=error.code, reason=error.detail)


def model_names(model: LanguageModel) -> str:
    """Return the names of all stages' models, each once."""
    return ", ".join(dict.fromkeys(model.name(stage) for stage in STAGES))
