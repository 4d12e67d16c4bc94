// Runs on workerd what wrangler has uploaded: a Worker's module with its bindings. D1 is workerd's own; the bindings of
// Vectorize and Workers AI ask the account of the tests as remote bindings do. Takes a file of JSON: the account's URL,
// the module, the bindings of the upload and the secrets. Prints one line of JSON when it serves, and stops when its
// input ends.

import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";

const { account, module, bindings, secrets } = JSON.parse(readFileSync(process.argv[2], "utf8"));

function bound({ type, id, json }, name) {
  if (type === "d1") return { type, id };
  if (type === "json") return { type, value: json };
  return type === "vectorize" ? { type, name, dev: { remote: true } } : { type, dev: { remote: true } };
}

const worker = {
  name: "deployed",
  compatibilityDate: "2026-11-01",
  manifest: {
    mainModule: "worker.js",
    modulesRoot: import.meta.dirname,
    modules: { "worker.js": { type: "esm", contents: module } },
  },
  env: {
    ...Object.fromEntries(bindings.map((binding) => [binding.name, bound(binding, binding.name)])),
    ...Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, { type: "text", value }])),
  },
};

const engine = new Miniflare({
  host: "127.0.0.1",
  port: 0,
  cf: false,
  logRequests: false,
  enableDevRegistry: false,
  telemetry: { enabled: false },
  workers: [{ config: worker, dev: { remoteProxyConnectionString: new URL(account) } }],
});
process.stdin.on("end", async () => {
  await engine.dispose();
  process.exit(0);
});
process.stdin.resume();

console.log(JSON.stringify({ url: (await engine.ready).origin }));
