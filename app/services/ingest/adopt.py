"""The stage in which an ingestion takes over what another had brought of its messages and has not made memories."""

from app.services.ingest.messages import chunks
from app.services.ingest.work import IngestionWork


class Adopt:
    """Takes messages over from others, who have no lease any more once this one has it. Implements ``Stage``.

    So whatever an ingestion was sent is a memory when it ends, whoever had brought it and stopped or failed.
    """

    def __init__(self, *, planned: bool) -> None:
        """Take over what no model is to read for others yet, before it is planned; or what is ``planned``, after."""
        self._planned = planned

    async def run(self, work: IngestionWork) -> None:
        """Take over, unless that is done; raises as ``Stage`` says."""
        if not work.elsewhere:
            return
        if not self._planned:
            async for rows in chunks(work.elsewhere):  # whoever had brought one may have failed meanwhile
                await work.run([work.messages.stage(rows)])
        ids = [message.id for message in work.elsewhere]
        *_, staged = await work.run([*work.own.take_over(ids, planned=self._planned), work.messages.staged()])
        work.taken_over.update({str(row["id"]) for row in staged}.intersection(ids))
        if self._planned:
            work.elsewhere = ()
