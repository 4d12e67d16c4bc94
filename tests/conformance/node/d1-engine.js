// Runs the Worker on workerd over D1 databases: as many empty ones as it is told, or, kept in a folder, those of the names
// that follow it. Prints one line of JSON when it serves, and stops when its input ends, so that it never outlives the
// tests.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";

const [count, folder, ...names] = process.argv.slice(2);
const databases = names.length > 0 ? names : Array.from({ length: Number(count) }, () => randomUUID());

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
  ...(folder === undefined ? {} : { resourcePersistencePath: folder }),
  workers: [{ config: worker }],
});
process.stdin.on("end", () => engine.dispose());
process.stdin.resume();

console.log(JSON.stringify({ url: (await engine.ready).origin, databases }));
