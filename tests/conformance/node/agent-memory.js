// Runs the Worker on workerd and prints what it answers, as JSON. Takes the texts that are bound to it, as JSON.

import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";

const bindings = process.argv[2];
const { outputFiles } = buildSync({
  entryPoints: ["agent-memory-worker.ts"],
  bundle: true,
  format: "esm",
  write: false,
});

const worker = {
  name: "agent-memory",
  compatibilityDate: "2026-11-01",
  manifest: {
    mainModule: "worker.js",
    modulesRoot: import.meta.dirname,
    modules: { "worker.js": { type: "esm", contents: outputFiles[0].text } },
  },
  env: Object.fromEntries(
    Object.entries(JSON.parse(bindings)).map(([name, value]) => [name, { type: "text", value }]),
  ),
};

const engine = new Miniflare({
  host: "127.0.0.1",
  port: 0,
  cf: false,
  logRequests: false,
  enableDevRegistry: false,
  telemetry: { enabled: false },
  workers: [{ config: worker }],
});

try {
  const answer = await fetch(await engine.ready, { signal: AbortSignal.timeout(100_000) });
  console.log(JSON.stringify({ status: answer.status, text: await answer.text() }));
} finally {
  await engine.dispose();
}
