"""The installed npm package in each runtime that it is for, against a running service."""

import json
import mimetypes
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.console.chromium import CHROMIUM, chromium
from tests.conformance.npm_package import Project, archive, ran
from tests.conformance.toolchain import BUN, DENO, FOLDER, NEWER_NODE, NODE, OLDEST_NODE
from tests.process.conftest import Start, data_dir, spawn, start
from tests.process.server import Server, credential

__all__ = ["archive", "data_dir", "spawn", "start"]

USE = """
import { MemoryClient } from "memory-gateway-client";

export async function use(options) {
  const memory = new MemoryClient({ ...options, agent: "billing" });
  const { operations } = memory;
  await memory.store("The customer prefers invoices in Swedish", { metadata: { n: 1 } });
  await memory.ingest([{ role: "user", content: "I have moved to Oslo." }], { session_id: "s" });
  const { entries } = await memory.recall("which language should invoices be in?", { top_k: 1 });
  const { count } = await memory.ask("where does the customer live?");
  const bytes = new Uint8Array([0, 255, 10, 128]);
  const { blob_id } = await operations.put_blob({ body: bytes, contentType: "image/png" });
  const blob = await operations.get_blob({ path: { blob_id } });
  const lines = [];
  for await (const line of memory.exportMemories()) lines.push(line);
  const reports = [];
  async function* source() { yield* lines; }
  const summary = await memory.importMemories(source(), { onReport: (report) => reports.push(report.status) });
  const codes = [];
  const left = AbortSignal.abort(new Error("left"));
  const refused = [() => memory.store(" "), () => memory.recall("who?", { signal: left })];
  for (const call of refused) await call().catch((error) => codes.push(error.code ?? error.message));
  return JSON.stringify({
    found: entries.map(({ content }) => content), count, bytes: [...(await blob.bytes())], type: blob.type,
    lines: lines.length, reports, unchanged: summary.unchanged, codes,
  });
}
"""
PROGRAM = f"{USE}\nconsole.log(await use({{}}));\n"
WORKER = f"""{USE}
export default {{
  async fetch(_, {{ url, token }}) {{
    return new Response(await use({{ url, token }}));
  }},
}};
"""


def holds(printed: str, *, lines: int = 4) -> None:
    """Check what a program was answered."""
    answers: dict[str, Any] = json.loads(printed)
    assert answers == {
        "found": ["The customer prefers invoices in Swedish"],
        "count": answers["count"],
        "bytes": [0, 255, 10, 128],
        "type": "image/png",
        "lines": lines,
        "reports": ["unchanged", "unchanged"],
        "unchanged": 2,
        "codes": ["invalid_request", "left"],
    }
    assert answers["count"] > 0


@pytest.fixture
def project(tmp_path: Path, archive: Path) -> Project:
    project = Project.new(tmp_path / "project", archive)
    project.write("program.mjs", PROGRAM)
    return project


@pytest.fixture
async def server(start: Start) -> Server:
    return await start()


def told(server: Server) -> dict[str, str]:
    return {"MEMORY_GATEWAY_URL": server.url, "MEMORY_GATEWAY_TOKEN": credential(admin=True)}


RUNTIMES: dict[str, list[str | Path]] = {
    "the oldest node": [OLDEST_NODE],
    "a newer node": [NEWER_NODE],
    "deno": [DENO, "run", "--no-remote", "--node-modules-dir=manual", "--allow-net", "--allow-env", "--allow-read=."],
    "bun": [BUN, "run"],
}


@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_a_program_uses_it(project: Project, server: Server, runtime: str) -> None:
    holds(ran(*RUNTIMES[runtime], "program.mjs", within=project.folder, **told(server)))


async def test_a_program_of_deno_that_may_not_read_the_environment_says_what_it_needs(
    project: Project, server: Server
) -> None:
    project.write(
        "said.mjs", f'{USE}\nconsole.log(await use({{ url: "{server.url}", token: "{credential(admin=True)}" }}));'
    )
    command: list[str | Path] = [
        DENO,
        "run",
        "--no-remote",
        "--no-prompt",
        "--node-modules-dir=manual",
        "--allow-net",
        "--allow-read=.",
    ]
    holds(ran(*command, "said.mjs", within=project.folder))


async def test_a_worker_uses_it(project: Project, server: Server) -> None:
    project.write("worker.mjs", WORKER)
    bundle = project.folder / "bundle.mjs"
    esbuild = FOLDER / "node_modules" / "esbuild" / "bin" / "esbuild"
    ran(esbuild, "worker.mjs", "--bundle", "--format=esm", f"--outfile={bundle}", within=project.folder)
    command: list[str | Path] = [NODE, FOLDER / "npm-worker.js", bundle, server.url, credential(admin=True)]
    holds(ran(*command, within=FOLDER))


async def test_a_page_of_a_browser_uses_it_as_it_is(project: Project, server: Server) -> None:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: make conformance installs it on Debian")
    package = project.folder / "node_modules" / "memory-gateway-client" / "dist" / "esm"
    use = USE.replace('"memory-gateway-client"', '"/npm/index.js"')
    page_of = {"/page": "<!doctype html><title>page</title>", "/use.js": use}
    async with chromium() as browser:
        page = await browser.new_page()

        async def files(route: Any, request: Any) -> None:
            path = request.url.removeprefix(server.url)
            text = page_of.get(path) or (package / path.removeprefix("/npm/")).read_text(encoding="utf-8")
            kind = "text/html" if path == "/page" else mimetypes.types_map[".js"]
            await route.fulfill(body=text, content_type=kind)

        await page.route(lambda url: url.removeprefix(server.url).startswith(("/page", "/use.js", "/npm/")), files)
        await page.goto(f"{server.url}/page")
        script = "async (options) => (await import('/use.js')).use(options)"
        holds(await page.evaluate(script, {"url": server.url, "token": credential(admin=True)}))
