"""The npm package, packed and installed into an empty project, against a running service."""

import json
from pathlib import Path

import pytest

from app.interfaces.http.application import openapi_document
from tests.conformance.npm_package import Project, archive
from tests.conformance.toolchain import NEWER_NODE, OLDEST_NODE
from tests.process.conftest import Start, data_dir, spawn, start
from tests.process.server import credential
from tests.services.transfer.corpus import file_of, numbered

__all__ = ["archive", "data_dir", "spawn", "start"]

FIVE_CALLS = """
const memory = new MemoryClient({ agent: "billing" });
await memory.store("The customer prefers invoices in Swedish", { metadata: { source: "call" } });
await memory.ingest([{ role: "user", content: "I have moved to Oslo." }], { session_id: "s" });
const { entries } = await memory.recall("which language should invoices be in?", { top_k: 1 });
const asked = await memory.ask("where does the customer live?");
const remembered = await memory.forAgent("other").remember("Ann sits at table four");
const assembled = await memory.assemble({ query: "invoices" });
console.log(JSON.stringify({ entries, asked, remembered, assembled }));
"""
FORMATS = {
    "esm.mjs": f'import {{ MemoryClient }} from "memory-gateway-client";\n{FIVE_CALLS}',
    "cjs.cjs": (
        'const { MemoryClient } = require("memory-gateway-client");\n'
        f"(async () => {{{FIVE_CALLS}}})().catch((error) => {{ console.error(error); process.exitCode = 1; }});"
    ),
}


@pytest.fixture
def project(tmp_path: Path, archive: Path) -> Project:
    return Project.new(tmp_path / "project", archive)


@pytest.mark.parametrize("node", [OLDEST_NODE, NEWER_NODE], ids=["oldest", "newer"])
@pytest.mark.parametrize("file", FORMATS)
async def test_the_installed_package_calls_the_service(project: Project, start: Start, file: str, node: Path) -> None:
    server = await start()
    project.write(file, FORMATS[file])
    told = {"MEMORY_GATEWAY_URL": server.url, "MEMORY_GATEWAY_TOKEN": credential()}
    answers = json.loads(project.node(file, node=node, **told))
    assert [entry["content"] for entry in answers["entries"]] == ["The customer prefers invoices in Swedish"]
    assert answers["asked"]["count"] > 0
    assert answers["remembered"]["content"] == "Ann sits at table four"
    assert answers["assembled"]["pieces"] is not None


def test_every_operation_of_the_document_is_a_method_and_no_other(project: Project) -> None:
    project.write(
        "ids.mjs",
        'import { MemoryClient } from "memory-gateway-client";\n'
        'console.log(JSON.stringify(Object.keys(new MemoryClient({ token: "t" }).operations)));',
    )
    document = openapi_document()
    ids = {operation["operationId"] for methods in document["paths"].values() for operation in methods.values()}
    assert set(json.loads(project.node("ids.mjs"))) == ids


TRANSFER = """
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { MemoryClient } from "memory-gateway-client";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");
const held = () => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const memory = new MemoryClient();
async function* watched(lines, seen) {
  for await (const line of lines) {
    if (seen.lines++ % 2500 === 0) seen.most = Math.max(seen.most, held() - before);
    yield line;
  }
}
const before = held();
const into = { lines: 0, most: 0 };
const summary = await memory.importMemories(watched(source(), into));
const out = { lines: 0, most: 0 };
for await (const line of watched(memory.exportMemories(), out)) if (!line) throw new Error("an empty line");
console.log(JSON.stringify({ summary, into, out }));

async function* source() {
  const { createReadStream } = await import("node:fs");
  const { createInterface } = await import("node:readline");
  yield* createInterface({ input: createReadStream("lines.ndjson"), crlfDelay: Infinity });
}
"""


async def test_ten_thousand_lines_go_and_come_and_none_is_held(project: Project, start: Start) -> None:
    server = await start()
    (project.folder / "lines.ndjson").write_bytes(file_of(numbered(10_000, agent_id="bot")))
    project.write("transfer.mjs", TRANSFER)
    told = {"MEMORY_GATEWAY_URL": server.url, "MEMORY_GATEWAY_TOKEN": credential(admin=True)}
    done = json.loads(project.node("transfer.mjs", node=OLDEST_NODE, **told))
    assert done["summary"]["imported"] == 10_000
    assert done["into"]["lines"] == done["out"]["lines"] == 10_002
    assert max(done["into"]["most"], done["out"]["most"]) < 8_000_000
