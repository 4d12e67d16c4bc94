// Runs a Worker that calls the service once on workerd, prints what it answers, and ends: node npm-worker.js FILE URL TOKEN

import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";

const [file, url, token] = process.argv.slice(2);
const worker = {
  name: "npm-worker",
  compatibilityDate: "2026-11-01",
  manifest: {
    mainModule: "worker.js",
    modulesRoot: import.meta.dirname,
    modules: { "worker.js": { type: "esm", contents: readFileSync(file, "utf8") } },
  },
  env: { url: { type: "text", value: url }, token: { type: "text", value: token } },
};
const runtime = new Miniflare({
  host: "127.0.0.1",
  port: 0,
  cf: false,
  logRequests: false,
  enableDevRegistry: false,
  telemetry: { enabled: false },
  workers: [{ config: worker }],
});
try {
  console.log(await (await fetch((await runtime.ready).origin)).text());
} finally {
  await runtime.dispose();
}
