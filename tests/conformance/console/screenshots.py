"""Makes the pictures of the README: ``python -m tests.conformance.console.screenshots docs/images``."""

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import ViewportSize

from tests.conformance.console.chromium import chromium, listening, signed_in
from tests.conformance.console.example_store import AGENT, OLD_ADDRESS, POISONED, filled
from tests.support.service import serving

SIZE = ViewportSize(width=960, height=600)
QUESTION = "Where do deliveries of Olsen Bygg go?"


async def main(folder: Path) -> None:
    """Fill a store, open the pages and write a picture of each."""
    with tempfile.TemporaryDirectory() as data:
        async with serving(Path(data), embedder="local", reader="local") as service:
            store = await filled(service)
            (old,) = await store.ids(OLD_ADDRESS)
            pages = {
                "search": f"/search?agent={AGENT}&q={QUESTION}&top_k=1",
                "why-not": f"/search/why?agent={AGENT}&q={QUESTION}&memory={old}",
                "memory": f"/memories/{old}?agent={AGENT}",
                "take-back": f"/undo?session_id={POISONED}&agent_id={AGENT}&agent={AGENT}",
                "workflows": f"/workflows?agent={AGENT}&agent_type=support&task_type=damaged-goods",
            }
            async with listening(service) as url, chromium() as browser:
                context = await browser.new_context(viewport=SIZE, color_scheme="light")
                page = await signed_in(context, url, store)
                for name, path in pages.items():
                    await page.goto(f"{url}/console{path}")
                    file = folder / f"console-{name}.png"
                    await page.screenshot(path=file, full_page=True)
                    sys.stdout.write(f"{file} {file.stat().st_size // 1024} kB\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
