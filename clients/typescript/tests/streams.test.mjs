import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { MemoryClient } from "memory-gateway-client";
import { inTurn, json, lost, problem, serving } from "./serving.mjs";

const client = (url, more = {}) => new MemoryClient({ url, token: "t", agent: "billing", ...more });
const MANIFEST = '{"type":"manifest","format":"memory-gateway","version":3}';
const END = '{"type":"end","memories":1,"hash":"h"}';
const SUMMARY = { type: "summary", lines: 2, imported: 1, unchanged: 0, duplicate: 0, conflict: 0, rejected: 0 };

function lines(...said) {
  return (_, response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.end(said.map((line) => `${line}\n`).join(""));
  };
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

/** Returns the bytes that are held. */
function held() {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function gathered(iterable, into = []) {
  for await (const each of iterable) into.push(each);
  return into;
}

test("an export gives its lines as they are, digits that no number of JavaScript holds too", async (t) => {
  const memory = '{"type":"memory","metadata":{"n":9223372036854775807,"f":1.0},"content":"ä€😀"}';
  const { url, asked } = await serving(t, lines(MANIFEST, memory, END));
  assert.deepEqual(await gathered(client(url).exportMemories({ agent: "billing", vectors: true })), [MANIFEST, memory, END]);
  assert.equal(asked[0].url, "/export?agent_id=billing&vectors=true");
});

test("an export that breaks off fails after what came", async (t) => {
  const broken = (_, response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.write(`${MANIFEST}\n{"type":"mem`);
    setTimeout(() => response.destroy(), 20);
  };
  const { url, asked } = await serving(t, broken);
  const came = [];
  await assert.rejects(gathered(client(url).exportMemories(), came), { code: "answer_lost" });
  assert.deepEqual(came, [MANIFEST]);
  assert.equal(asked.length, 1);
  const ended = await serving(t, lines(MANIFEST));
  await assert.rejects(gathered(client(ended.url).exportMemories()), { code: "answer_lost", message: /closing line/ });
});

test("an export is asked for again as long as nothing of it came", async (t) => {
  const { url, asked } = await serving(t, inTurn(lost, lines(MANIFEST, END)));
  assert.equal((await gathered(client(url).exportMemories())).length, 2);
  assert.equal(asked.length, 2);
});

test("a stream that stands still is ended, one whose reader is slow is not", async (t) => {
  const slow = async (_, response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.write(`${MANIFEST}\n`);
  };
  const still = await serving(t, slow);
  await assert.rejects(gathered(client(still.url, { timeoutMs: 200 }).exportMemories()), { code: "answer_timeout" });
  const { url } = await serving(t, async (_, response) => {
    response.writeHead(200);
    response.write(`${MANIFEST}\n`);
    await pause(30);
    response.end(`${END}\n`);
  });
  const read = [];
  for await (const line of client(url, { timeoutMs: 1500 }).exportMemories()) {
    read.push(line);
    await pause(1700);
  }
  assert.deepEqual(read, [MANIFEST, END]);
});

test("an export that is no longer read is given up, and aborted it rejects with the reason", async (t) => {
  let closed = 0;
  const endless = (_, response) => {
    response.on("close", () => (closed += 1));
    response.writeHead(200);
    const timer = setInterval(() => response.write(`${MANIFEST}\n`), 5);
    response.on("close", () => clearInterval(timer));
  };
  const { url } = await serving(t, endless);
  for await (const line of client(url).exportMemories()) {
    assert.equal(line, MANIFEST);
    break;
  }
  while (closed < 1) await pause(5);
  const reason = new Error("enough");
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 50);
  await assert.rejects(gathered(client(url).exportMemories({ signal: controller.signal })), (error) => error === reason);
  while (closed < 2) await pause(5);
});

test("an import sends lines while they come, and tells what became of each", async (t) => {
  const reports = [{ line: 2, id: "i", status: "imported" }];
  const { url, asked } = await serving(t, lines(...reports.map((each) => JSON.stringify(each)), JSON.stringify(SUMMARY)));
  const told = [];
  async function* source() {
    yield MANIFEST;
    await pause(300); // longer than the call may stand still: it is the source's turn
    yield { type: "end", memories: 1 };
  }
  const onReport = (report) => told.push(report);
  assert.deepEqual(await client(url, { timeoutMs: 200 }).importMemories(source(), { onReport }), SUMMARY);
  assert.deepEqual(told, reports);
  assert.equal(asked[0].body, `${MANIFEST}\n{"type":"end","memories":1}\n`);
  assert.equal(asked[0].headers["content-type"], "application/x-ndjson");
});

test("an import is sent once, and an answer without its summary is lost", async (t) => {
  const { url, asked } = await serving(t, lost);
  await assert.rejects(client(url).importMemories([MANIFEST, END]), { code: "answer_lost" });
  assert.equal(asked.length, 1);
  const short = await serving(t, lines('{"line":2,"id":"i","status":"imported"}'));
  await assert.rejects(client(short.url).importMemories([MANIFEST]), { code: "answer_lost", message: /summary/ });
});

test("what the source throws is what the import rejects with", async (t) => {
  const { url } = await serving(t, lines(JSON.stringify(SUMMARY)));
  const reason = new Error("the file cannot be read");
  async function* source() {
    yield MANIFEST;
    throw reason;
  }
  await assert.rejects(client(url).importMemories(source()), (error) => error === reason);
});

test("an import that is refused at once closes its source", async (t) => {
  const refused = problem(401, "unauthenticated", { headers: { Connection: "close" } });
  refused.early = true;
  const { url } = await serving(t, refused);
  let closed = false;
  async function* source() {
    try {
      for (;;) yield MANIFEST;
    } finally {
      closed = true;
    }
  }
  await assert.rejects(client(url).importMemories(source()), { code: "unauthenticated" });
  for (let waited = 0; !closed && waited < 100; waited += 1) await pause(20);
  assert.equal(closed, true);
});

test("streams of any size pass through a memory that stays as it is", async (t) => {
  const LINES = 50_000;
  const line = `${JSON.stringify({ type: "memory", content: "x".repeat(2_000) })}\n`;
  let received = 0;
  const taking = async (request, response) => {
    if (request.method === "POST") {
      for await (const chunk of request) received += chunk.length;
      return lines(JSON.stringify(SUMMARY))(request, response);
    }
    response.writeHead(200);
    for (let at = 0; at < LINES; at += 1) {
      if (!response.write(line)) await new Promise((resolve) => response.once("drain", resolve));
    }
    response.end(`${END}\n`);
  };
  taking.early = true;
  const { url } = await serving(t, taking);
  const memory = client(url);
  const before = held();
  let [most, count] = [0, 0];
  async function* through() {
    for await (const said of memory.exportMemories()) {
      if (count++ % 5_000 === 0) most = Math.max(most, held() - before);
      yield said;
    }
  }
  assert.deepEqual(await memory.importMemories(through()), SUMMARY);
  assert.ok(received > 100_000_000);
  assert.ok(most < 15_000_000, `${most} bytes more`);
});

test("bytes go and come as they are", async (t) => {
  const blob = { id: "b", size: 4, content_type: "image/png", sha256: "", created_at: "" };
  const bytes = new Uint8Array([0, 255, 10, 128]);
  const { url, asked } = await serving(t, (request, response) => {
    if (request.method === "POST") return json(201, blob)(request, response);
    response.writeHead(200, { "Content-Type": "image/png" });
    response.end(bytes);
  });
  const { operations } = client(url);
  await operations.put_blob({ body: new Blob([bytes], { type: "image/png" }) }).catch(() => undefined);
  await operations.put_blob({ body: bytes, contentType: "image/png" }).catch(() => undefined);
  await operations.put_blob({ body: bytes.buffer }).catch(() => undefined);
  await operations.put_blob({ body: new Response(bytes).body }).catch(() => undefined);
  const types = asked.map(({ headers }) => headers["content-type"]);
  const octets = "application/octet-stream";
  assert.deepEqual(types, ["image/png", "image/png", octets, octets]);
  const get = () => operations.get_blob({ path: { blob_id: "b" } });
  const answer = await get();
  assert.equal(answer.type, "image/png");
  assert.deepEqual(await answer.bytes(), bytes);
  await assert.rejects(answer.bytes(), TypeError);
  assert.deepEqual(new Uint8Array(await new Response((await get()).stream()).arrayBuffer()), bytes);
});
