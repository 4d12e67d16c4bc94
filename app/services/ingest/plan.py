"""The stage before the messages are written: divides them into the passes that a language model reads (``pass``)."""

from app.services.ingest.work import IngestionWork
from app.services.learning.passes import OVERLAP, plan


class PassPlan:
    """Plans the passes of an ingestion, and stores them. Implements ``Stage``."""

    async def run(self, work: IngestionWork) -> None:
        """Plan the passes, unless that is done; a pass has no messages that are no longer there."""
        if not work.learns or work.planned:
            return
        sizes, before = await work.run(work.learning.to_plan(before=OVERLAP))
        messages, known = (
            [(str(row["id"]), int(row["characters"] or 0)) for row in rows] for rows in (sizes, reversed(before))
        )
        await work.run(work.learning.plan(plan(messages, known)))
        work.planned = True
