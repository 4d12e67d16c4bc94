"""Makes the pictures of the README: ``python -m tests.conformance.console.screenshots docs/images``."""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.conformance.console.chromium import WIDE, chromium, listening, signed_in
from tests.conformance.console.example_store import AGENT, OLD_ADDRESS, POISONED, RUN, filled
from tests.support.service import serving

QUESTION = "Where do deliveries of Olsen Bygg go?"


async def main(folder: Path) -> None:
    """Fill a store, open the pages and write a picture of each."""
    with tempfile.TemporaryDirectory() as data:
        async with serving(Path(data), embedder="local", reader="local") as service:
            store = await filled(service)
            (old,) = await store.ids(OLD_ADDRESS)
            pages = {
                "search": f"/search?agent={AGENT}&q={QUESTION}&top_k=3",
                "why-not": f"/search/why?agent={AGENT}&q={QUESTION}&memory={old}",
                "memory": f"/memories/{old}?agent={AGENT}",
                "undo": f"/undo?session_id={POISONED}&agent_id={AGENT}&agent={AGENT}",
                "workflows": f"/workflows?agent={AGENT}&agent_type=support&task_type=damaged-goods",
                "run": f"/runs/{RUN}?agent={AGENT}",
            }
            async with listening(service) as url, chromium() as browser:
                for scheme in ("light", "dark"):
                    context = await browser.new_context(viewport=WIDE, color_scheme=scheme)
                    page = await signed_in(context, url, store)
                    for name, path in pages.items():
                        await page.goto(f"{url}/console{path}")
                        await page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
