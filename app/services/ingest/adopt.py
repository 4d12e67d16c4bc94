"""The stage in which an ingestion takes over messages that another ingestion brought and did not make memories of."""

from app.services.ingest.messages import chunks
from app.services.ingest.work import IngestionWork


class Adopt:
    """Takes messages over from other ingestions, and ends their leases. Implements ``Stage``.

    So every message that an ingestion was sent is a memory when the ingestion ends, even where another ingestion had
    brought the message and stopped or failed.
    """

    def __init__(self, *, planned: bool) -> None:
        """Say which messages are taken over.

        ``planned``: also those of ingestions whose passes are planned; else only those of ingestions without a plan.
        """
        self._planned = planned

    async def run(self, work: IngestionWork) -> None:
        """Take the messages over, unless that is done; raises as ``Stage`` says."""
        if not work.elsewhere:
            return
        if not self._planned:
            async for rows in chunks(work.elsewhere):  # the other ingestion may have failed meanwhile
                await work.run([work.messages.stage(rows)])
        ids = [message.id for message in work.elsewhere]
        *_, staged = await work.run([*work.own.take_over(ids, planned=self._planned), work.messages.staged()])
        work.taken_over.update({str(row["id"]) for row in staged}.intersection(ids))
        if self._planned:
            work.elsewhere = ()
