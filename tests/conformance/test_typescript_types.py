"""The types of the packed npm package hold in strict programs, and what the service does not have does not compile."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.npm_package import Project, archive, ran, run
from tests.conformance.toolchain import CLIENT, FOLDER

__all__ = ["archive"]

TSC = CLIENT / "node_modules" / "typescript" / "bin" / "tsc"
PROGRAM = """
import { type EntryAnswer, MemoryClient, MemoryGatewayError, type StoreOptions } from "memory-gateway-client";

const memory = new MemoryClient({ url: "http://127.0.0.1:8000", token: "t", agent: "a", timeoutMs: 1, retries: 0 });
const options: StoreOptions = { metadata: { a: [1, null] }, occurred_at: "2026-11-29T00:00:00Z", idempotencyKey: "k" };

export async function use(signal: AbortSignal | undefined): Promise<EntryAnswer[]> {
  const { stored = false } = await memory.store("content", { ...options, signal });
  const { entries, degraded = [] } = await memory.recall("query", { top_k: 3, filter: { metadata: { a: 1 } }, signal });
  await memory.ingest([{ role: "user", content: "c" }], { session_id: "s", dry_run: true });
  const profile: number = (await memory.ask("question")).count;
  const { id } = await memory.remember("content");
  await memory.operations.get_memory({ path: { memory_id: id }, query: { agent_id: "a" }, signal, retries: 1 });
  for await (const line of memory.exportMemories({ agent: "a" })) line.toUpperCase();
  const { imported }: { imported: number } = await memory.importMemories(["{}"], { onReport: ({ status }) => status });
  const bytes: Uint8Array = await (await memory.operations.get_blob({ path: { blob_id: "b" } })).bytes();
  try {
    await memory.forAgent("b").assemble({ query: "q", max_tokens: 100 });
  } catch (error) {
    if (error instanceof MemoryGatewayError && error.unavailable) console.log(error.code, error.fields);
  }
  return stored && imported + profile + bytes.length + (degraded ?? []).length > 0 ? entries : [];
}
"""
WRONG = [
    ('"content", {', "7, {", "Argument of type 'number' is not assignable"),
    ("top_k: 3", 'top_k: "3"', "Type 'string' is not assignable to type 'number'"),
    ("filter: {", "filters: {", "'filters' does not exist"),
    ('role: "user"', 'role: "owner"', "is not assignable to type"),
    ('query: { agent_id: "a" }, ', "", "Property 'query' is missing"),
    ("path: { memory_id: id }", "path: { id }", "'id' does not exist"),
    (".get_memory(", ".read_memory(", "Property 'read_memory' does not exist"),
    ("{ entries, degraded", "{ memories: entries, degraded", "Property 'memories' does not exist"),
]
STRICT: dict[str, Any] = {
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "skipLibCheck": False,
    "noEmit": True,
    "target": "es2022",
    "lib": ["es2022", "dom", "dom.iterable", "dom.asynciterable"],
    "types": [],
}
RESOLUTIONS = {
    "node16, a module": {"module": "node16", "moduleResolution": "node16"},
    "node16, commonjs": {"module": "node16", "moduleResolution": "node16"},
    "bundler": {"module": "esnext", "moduleResolution": "bundler"},
}


@pytest.fixture
def project(tmp_path: Path, archive: Path) -> Project:
    return Project.new(tmp_path / "project", archive)


def configured(project: Project, resolution: str, program: str) -> None:
    file = "program.cts" if resolution.endswith("commonjs") else "program.mts"
    project.write(file, program)
    told = {"compilerOptions": STRICT | RESOLUTIONS[resolution], "files": [file]}
    project.write("tsconfig.json", json.dumps(told))


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_a_strict_program_compiles(project: Project, resolution: str) -> None:
    configured(project, resolution, PROGRAM)
    assert ran(TSC, "-p", ".", within=project.folder) == ""


def test_what_the_service_does_not_have_does_not_compile(project: Project) -> None:
    for right, wrong, error in WRONG:
        assert right in PROGRAM
        configured(project, "bundler", PROGRAM.replace(right, wrong, 1))
        checked = run(TSC, "-p", ".", within=project.folder)
        assert checked.returncode != 0, wrong
        assert error in checked.stdout, checked.stdout


def test_the_archive_has_what_is_needed_alone_and_the_readme_says_how_large_it_is(project: Project) -> None:
    package = project.folder / "node_modules" / "memory-gateway-client"
    told = json.loads((package / "package.json").read_text(encoding="utf-8"))
    assert "dependencies" not in told
    assert {path.name for path in package.iterdir()} == {*told["files"], "package.json", "README.md"}
    adapters = sorted(path.stem for path in (CLIENT / "src" / "adapters").glob("*.ts"))
    for kind in ("esm", "cjs"):
        assert sorted(path.stem for path in (package / "dist" / kind / "adapters").glob("*.js")) == adapters
    readme = (package / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`memory-gateway-client/([a-z-]+)`", readme)) == set(adapters)
    project.write("all.mjs", 'export * from "memory-gateway-client";')
    esbuild = FOLDER / "node_modules" / "esbuild" / "bin" / "esbuild"
    bundle = project.folder / "bundle.js"
    ran(esbuild, "all.mjs", "--bundle", "--minify", "--format=esm", f"--outfile={bundle}", within=project.folder)
    (most, compressed) = re.findall(r"(\d+) kB minified, (\d+) kB compressed", " ".join(readme.split()))[0]
    assert bundle.stat().st_size <= int(most) * 1000
    assert len(gzip.compress(bundle.read_bytes())) <= int(compressed) * 1000
