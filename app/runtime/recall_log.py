"""Writes the notes of recalls and runs into the audit, while the service runs and when it ends."""

from time import monotonic

import structlog

from app.domain.errors import DatabaseRejected
from app.runtime.backends import Backends
from app.storage.system import departures, recall_log

WRITE_SECONDS = 30.0
"""The pause between two writings."""


async def write_recalls(backends: Backends) -> None:
    """Write all notes, in batches. No call of the database is made where there are no notes.

    Raises:
        Unavailable: the database does not answer; the notes that are left are written the next time.
    """
    log = backends.recall_log
    while batch := log.batch():
        try:
            tenants = departures.read({note.tenant_id for note in batch})
            *_, departed = await backends.database.run([*recall_log.write(batch, monotonic()), tenants])
        except DatabaseRejected as error:  # the batch would be refused again, and keep out all later notes
            structlog.get_logger().error("recall_log_refused", rows=len(batch), reason=error.detail)
            log.refused(batch)
        else:
            log.written(batch, departures.read_departed(departed))
