// Runs both entries of deploy/edge on workerd: D1 is its own, the bindings of Vectorize and Workers AI are Cloudflare's
// own too, and ask the account of the tests as remote bindings do. Takes a file of JSON: the account's URL, the secrets,
// the models, the settings of the service in a Container, and by each slot the databases and indexes with their
// bindings; those of slot 0 are the Worker's own. Prints one line of JSON when it serves, and stops when its input ends.

import { readFileSync } from "node:fs";
import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";

const { account, secret, authSecrets, models, settings, slots } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const databases = Object.values(slots).flatMap(({ DATABASES }) => Object.entries(DATABASES));
const indexes = Object.values(slots).flatMap(({ INDEXES }) => Object.values(INDEXES));

const { outputFiles } = buildSync({
  entryPoints: ["edge-worker.ts"],
  bundle: true,
  format: "esm",
  keepNames: true,
  target: "es2024",
  external: ["cloudflare:*"],
  write: false,
  nodePaths: [`${import.meta.dirname}/node_modules`],
});

const worker = {
  name: "edge",
  compatibilityDate: "2026-11-01",
  exports: { MemoryGateway: { type: "durable-object", storage: "sqlite" } },
  manifest: {
    mainModule: "edge.js",
    modulesRoot: import.meta.dirname,
    modules: { "edge.js": { type: "esm", contents: outputFiles[0].text } },
  },
  env: {
    EDGE_SECRET: { type: "text", value: secret },
    AUTH_SECRETS: { type: "text", value: authSecrets },
    SETTINGS: { type: "json", value: settings },
    MEMORY_GATEWAY: { type: "durable-object", worker: "edge", exportName: "MemoryGateway" },
    SLOTS: { type: "json", value: slots },
    DATABASES: { type: "json", value: slots[0].DATABASES },
    INDEXES: { type: "json", value: slots[0].INDEXES },
    MODELS: { type: "json", value: models },
    AI: { type: "ai", dev: { remote: true } },
    ...Object.fromEntries(databases.map(([id, binding]) => [binding, { type: "d1", id }])),
    ...Object.fromEntries(databases.map(([id, binding]) => [`${binding}_REPLICA`, { type: "d1", id: `${id}-replica` }])),
    ...Object.fromEntries(
      indexes.map(({ binding }) => [binding, { type: "vectorize", name: binding, dev: { remote: true } }]),
    ),
  },
};

const engine = new Miniflare({
  host: "127.0.0.1",
  port: 0,
  cf: false,
  logRequests: false,
  enableDevRegistry: false,
  telemetry: { enabled: false },
  unsafeTriggerHandlers: true, // /cdn-cgi/local/scheduled sends an event of the cron trigger
  workers: [
    { config: worker, dev: { remoteProxyConnectionString: new URL(account) } },
  ],
});
process.stdin.on("end", async () => {
  await engine.dispose();
  process.exit(0);
});
process.stdin.resume();

console.log(JSON.stringify({ url: (await engine.ready).origin }));
