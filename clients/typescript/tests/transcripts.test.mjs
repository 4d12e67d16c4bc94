import assert from "node:assert/strict";
import { test } from "node:test";

import { InstanceMemory } from "memory-gateway-client/cloudflare-agents";
import openclaw from "memory-gateway-client/openclaw";

const said = (id, text = `statement ${id}`) => ({ id: String(id), role: "user", parts: [{ type: "text", text }] });
const statements = (from, to) => Array.from({ length: to - from }, (_, at) => said(from + at));

/** A service that keeps what is ingested, is away when told so, and refuses what holds a key. */
class Keeping {
  kept = [];
  isAway = false;

  async fetch(request) {
    const { messages } = await request.json();
    if (this.isAway) return problem(503, "database_lost");
    const refused = messages.flatMap(({ content, occurred_at = "" }, at) => {
      if (content.includes("a key")) return [{ field: `messages.${at}.content`, message: "holds a key" }];
      return occurred_at > "2100" ? [{ field: `messages.${at}.occurred_at`, message: "is to come" }] : [];
    });
    if (refused.length > 0) return problem(422, "invalid_request", refused);
    for (const { content } of messages) if (!this.kept.includes(content)) this.kept.push(content);
    const counts = { stored: messages.length, known: 0, waiting: 0, failed: 0 };
    return Response.json({ session_id: "s", status: "done", messages: [], ...counts });
  }
}

function problem(status, code, errors = []) {
  return Response.json({ code, status, detail: `It is ${code}.`, errors }, { status });
}

function memoryOf(service, options = {}) {
  const bindings = { MEMORY_GATEWAY_URL: "http://service", MEMORY_GATEWAY_TOKEN: "token", MEMORY_GATEWAY: service };
  return new InstanceMemory({ name: "chat" }, bindings, { agent: "bot", ...options });
}

test("all that was said in a long outage is handed over once it is over", async () => {
  const service = new Keeping();
  const memory = memoryOf(service, { onUnavailable: () => undefined });
  await memory.handOver(statements(0, 10));
  service.isAway = true;
  await memory.handOver(statements(0, 300));
  service.isAway = false;
  await memory.handOver(statements(0, 310));
  assert.deepEqual(
    service.kept,
    statements(0, 310).map(({ parts }) => parts[0].text),
  );
});

test("a message that the service refuses keeps no other from being kept, and is told", async () => {
  const service = new Keeping();
  const told = [];
  const memory = memoryOf(service, { onUnavailable: ({ code }) => told.push(code) });
  const all = [...statements(0, 3), said(3, "This is a key"), ...statements(4, 6)];
  await memory.handOver(all);
  assert.equal(service.kept.length, 5);
  assert.deepEqual(told, ["invalid_request"]);
  await memory.handOver([...all, said(6)]);
  assert.deepEqual([service.kept.at(-1), told.length], ["statement 6", 1]);
});

test("a message that is refused ends the turn where memory is required, once the others are kept", async () => {
  const service = new Keeping();
  const memory = memoryOf(service, { required: true });
  await assert.rejects(memory.handOver([said(0), said(1, "This is a key"), said(2)]), { code: "invalid_request" });
  assert.deepEqual(service.kept, ["statement 0", "statement 2"]);
});

test("OpenClaw's messages without a time, or with one that is refused, are handed over turn by turn", async (t) => {
  const service = new Keeping();
  t.mock.method(globalThis, "fetch", (url, init) => service.fetch(new Request(url, init)));
  const hooks = {};
  openclaw.register({
    pluginConfig: { url: "http://service", token: "token", agent: "bot" },
    logger: { warn: () => undefined },
    registerMemoryCapability: () => undefined,
    registerTool: () => undefined,
    on: (name, handler) => (hooks[name] = handler),
  });
  const messages = [];
  for (const words of ["tea", "milk", "tea"]) {
    messages.push({ role: "user", content: `I like ${words}, ${messages.length}` }, { role: "assistant", content: "Noted" });
    await hooks.agent_end({ messages: [...messages] }, { sessionId: "s" });
  }
  assert.deepEqual(service.kept, ["I like tea, 0", "Noted", "I like milk, 2", "I like tea, 4"]);
  const later = { role: "user", content: "My clock is wrong", timestamp: Date.parse("2200-01-01") };
  await hooks.agent_end({ messages: [...messages, later] }, { sessionId: "s" });
  assert.equal(service.kept.at(-1), "My clock is wrong");
});
