// Runs both entries of deploy/edge on workerd: D1 is its own, Vectorize's binding is Cloudflare's own too, and asks the
// account of the tests over REST. Takes a file of JSON: the account's URL and token, the secrets, and by each slot the
// databases and indexes with their bindings; those of slot 0 are the Worker's own. Prints one line of JSON when it serves,
// and stops when its input ends.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";

const { account, token, secret, authSecrets, slots } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const METHODS = { getByIds: "get_by_ids", deleteByIds: "delete_by_ids" };
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

// What stands behind a binding of Vectorize: it answers a result without its envelope, and an error as {code, error}.
const behind = createServer(async (request, response) => {
  if (request.headers.upgrade) return response.writeHead(426).end();
  const method = new URL(request.headers["mf-url"]).pathname.slice(1);
  const index = request.headers["mf-binding"].toLowerCase();
  const parts = [];
  for await (const part of request) parts.push(part);
  const answer = await fetch(`${account}/vectorize/v2/indexes/${index}/${METHODS[method] ?? method}`, {
    method: method === "info" ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${token}`,
      ...(parts.length > 0 && { "content-type": request.headers["mf-header-content-type"] }),
    },
    ...(parts.length > 0 && { body: Buffer.concat(parts) }),
  }).catch(() => new Response(null, { status: 502 }));
  const body = await answer.json().catch(() => ({ errors: [] }));
  const [error] = body.errors;
  response.writeHead(answer.status, { "content-type": "application/json" });
  response.end(JSON.stringify(answer.ok ? body.result : { code: error?.code, error: error?.message ?? "no answer" }));
});
behind.on("upgrade", (_, socket) => socket.end("HTTP/1.1 426 Upgrade Required\r\nConnection: close\r\n\r\n"));
await new Promise((resolve) => behind.listen(0, "127.0.0.1", resolve));

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
    SETTINGS: { type: "json", value: { EMBEDDER: "hashing" } },
    MEMORY_GATEWAY: { type: "durable-object", worker: "edge", exportName: "MemoryGateway" },
    SLOTS: { type: "json", value: slots },
    DATABASES: { type: "json", value: slots[0].DATABASES },
    INDEXES: { type: "json", value: slots[0].INDEXES },
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
    { config: worker, dev: { remoteProxyConnectionString: new URL(`http://127.0.0.1:${behind.address().port}/`) } },
  ],
});
process.stdin.on("end", async () => {
  await engine.dispose();
  process.exit(0);
});
process.stdin.resume();

console.log(JSON.stringify({ url: (await engine.ready).origin }));
