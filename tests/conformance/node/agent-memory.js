// Runs the Worker on workerd and prints what it answers, as JSON. Takes the Worker's code and its bindings.

import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";

const [code, bindings] = process.argv.slice(2);

const worker = {
  name: "agent-memory",
  compatibilityDate: "2026-11-01",
  manifest: {
    mainModule: "worker.js",
    modulesRoot: import.meta.dirname,
    modules: { "worker.js": { type: "esm", contents: readFileSync(code, "utf8") } },
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
process.stdin.on("end", () => engine.dispose());
process.stdin.resume();

const answer = await fetch(await engine.ready);
console.log(JSON.stringify({ status: answer.status, text: await answer.text() }));
await engine.dispose();
