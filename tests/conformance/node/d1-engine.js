// Runs the Worker on workerd over as many empty D1 databases as it is told. Prints one line of JSON when it serves,
// and stops when its input ends, so that it never outlives the tests.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";

const databases = Array.from({ length: Number(process.argv[2]) }, () => randomUUID());

const worker = {
  name: "d1-rest",
  compatibilityDate: "2026-11-01",
  manifest: {
    mainModule: "d1-worker.js",
    modulesRoot: import.meta.dirname,
    modules: {
      "d1-worker.js": { type: "esm", contents: readFileSync(new URL("d1-worker.js", import.meta.url), "utf8") },
    },
  },
  env: Object.fromEntries(databases.map((id) => [id, { type: "d1", id }])),
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

console.log(JSON.stringify({ url: (await engine.ready).origin, databases }));
