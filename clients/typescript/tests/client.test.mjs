import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import { test } from "node:test";
import { inspect } from "node:util";

import { MemoryClient, MemoryGatewayError } from "memory-gateway-client";
import { inTurn, json, lost, problem, RECALLED, serving } from "./serving.mjs";

const TOKEN = "eyJ-a-credential-that-nobody-may-see";
const client = (url, more = {}) => new MemoryClient({ url, token: TOKEN, agent: "billing", ...more });

/** Returns what a call rejects with. */
async function thrown(call) {
  try {
    await call;
  } catch (error) {
    return error;
  }
  assert.fail("the call was answered");
}

test("a store that is refused for a while is sent again, with the same key, after what the service asks", async (t) => {
  const wait = problem(429, "rate_limited", { headers: { "Retry-After": "1" } });
  const { url, asked } = await serving(t, inTurn(wait, json(201, { stored: true })));
  const began = Date.now();
  assert.deepEqual(await client(url).store("Ann"), { stored: true });
  assert.ok(Date.now() - began >= 1000);
  assert.equal(asked.length, 2);
  const keys = asked.map(({ headers }) => headers["idempotency-key"]);
  assert.match(keys[0], /^[0-9A-HJKMNP-TV-Z]{26}$/);
  assert.equal(keys[0], keys[1]);
  assert.deepEqual(JSON.parse(asked[1].body), { agent_id: "billing", content: "Ann" });
});

test("what takes longer than the call may is not waited for", async (t) => {
  const { url, asked } = await serving(t, problem(429, "rate_limited", { headers: { "Retry-After": "60" } }));
  const error = await thrown(client(url).recall("who?"));
  assert.equal(error.retryAfter, 60);
  assert.equal(error.unavailable, true);
  assert.equal(asked.length, 1);
});

test("a lost answer is asked for again, twice at most", async (t) => {
  const { url, asked } = await serving(t, inTurn(lost, lost, json(200, RECALLED)));
  assert.deepEqual(await client(url).recall("who?"), RECALLED);
  assert.equal(asked.length, 3);
  const away = await serving(t, lost);
  assert.equal((await thrown(client(away.url).recall("who?"))).code, "answer_lost");
  assert.equal(away.asked.length, 3);
  assert.equal((await thrown(client(away.url, { retries: 0 }).recall("who?"))).code, "answer_lost");
  assert.equal(away.asked.length, 4);
  assert.equal((await thrown(client(away.url).recall("who?", { retries: 1 }))).code, "answer_lost");
  assert.equal(away.asked.length, 6);
});

test("what may be done once only is sent once", async (t) => {
  const { url, asked } = await serving(t, lost);
  const { operations } = client(url);
  const calls = {
    erase_agent: () => operations.erase_agent({ path: { agent_id: "billing" } }),
    erase_tenant: () => operations.erase_tenant({ query: { confirm: "test" } }),
    append_run_log: () => operations.append_run_log({ path: { run_id: "r" }, body: { entries: [] } }),
    put_blob: () => operations.put_blob({ body: "bytes" }),
    delete_memories: () => operations.delete_memories({ body: { agent_id: "billing", dry_run: false, confirm: 1 } }),
    mint_credential: () => operations.mint_credential({ body: {} }),
    restore_archived: () => operations.restore_archived({ path: { archive_id: "a" } }),
    agent_memory_memory_delete: () =>
      operations.agent_memory_memory_delete({
        path: { account_id: "a", namespace_name: "n", profile_name: "p", memory_id: "m" },
      }),
    conditional: () =>
      operations.put_context({ path: { name: "n" }, headers: { "if-match": '"1"' }, body: { content: "" } }),
  };
  for (const [name, call] of Object.entries(calls)) {
    asked.length = 0;
    assert.equal((await thrown(call())).code, "answer_lost", name);
    assert.equal(asked.length, 1, name);
  }
  asked.length = 0;
  await thrown(operations.put_context({ path: { name: "n" }, body: { content: "" } }));
  assert.equal(asked.length, 3);
});

test("an outage that waiting does not end is not waited for, and another one is", async (t) => {
  const lasting = await serving(t, problem(503, "database_lost"));
  assert.equal((await thrown(client(lasting.url).recall("who?"))).code, "database_lost");
  assert.equal(lasting.asked.length, 1);
  const passing = await serving(t, inTurn(problem(503, "database_unavailable"), json(200, RECALLED)));
  await client(passing.url).recall("who?");
  assert.equal(passing.asked.length, 2);
});

test("a service that is not there is named, and nothing was sent", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  server.close();
  await once(server, "close");
  const error = await thrown(client(url).operations.erase_agent({ path: { agent_id: "billing" } }));
  assert.ok(error instanceof MemoryGatewayError);
  assert.deepEqual([error.code, error.status, error.unavailable], ["service_unreachable", 503, true]);
  assert.ok(error.message.includes(url));
});

test("a refusal is told as the service has written it", async (t) => {
  const errors = [{ field: "content", message: "must not be blank" }];
  const facts = { errors, advice: "Correct it.", request_id: "r1", trace_id: "t1" };
  const { url, asked } = await serving(t, problem(422, "invalid_request", facts));
  const error = await thrown(client(url).store(" "));
  assert.equal(error.name, "MemoryGatewayError");
  assert.equal(error.message, "It is invalid_request.");
  const { code, status, detail, fields, advice, requestId, traceId, retryAfter, unavailable } = error;
  assert.deepEqual(
    { code, status, detail, fields, advice, requestId, traceId, retryAfter, unavailable },
    {
      code: "invalid_request",
      status: 422,
      detail: "It is invalid_request.",
      fields: errors,
      advice: "Correct it.",
      requestId: "r1",
      traceId: "t1",
      retryAfter: undefined,
      unavailable: false,
    },
  );
  assert.equal(asked.length, 1);
});

test("a failure in Cloudflare's form is told too", async (t) => {
  const { url } = await serving(t, json(409, { success: false, errors: [{ code: 10008, message: "It exists." }] }));
  const call = client(url).operations.agent_memory_namespace_create({ path: { account_id: "a" }, body: { name: "n" } });
  const { code, status, message } = await thrown(call);
  assert.deepEqual([code, status, message], ["cloudflare_10008", 409, "It exists."]);
});

test("that the service is not ready is an answer", async (t) => {
  const answer = { status: "not_ready", embedding_config: {}, parts: [] };
  const { url } = await serving(t, json(503, answer));
  assert.deepEqual(await client(url).operations.readyz(), answer);
});

test("what another than the service says is no answer, and never an empty memory", async (t) => {
  const page = (status) => (_, response) => response.writeHead(status, { "Content-Type": "text/html" }).end("<p>");
  const cases = [
    [page(200), "answer_not_understood", 1],
    [json(200, {}), "answer_not_understood", 1],
    [json(200, []), "answer_not_understood", 1],
    [page(404), "answer_not_understood", 1],
    [page(204), "answer_not_understood", 1],
    [page(502), "unavailable", 3],
    [page(429), "rate_limited", 1],
  ];
  for (const [answer, code, times] of cases) {
    const { url, asked } = await serving(t, answer);
    assert.equal((await thrown(client(url).recall("who?"))).code, code);
    assert.equal(asked.length, times, code);
  }
});

test("half a reply is no answer", async (t) => {
  const half = (_, response) => {
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": 1000 });
    response.write('{"entries": [');
    setTimeout(() => response.destroy(), 20);
  };
  const { url, asked } = await serving(t, inTurn(half, json(200, RECALLED)));
  assert.deepEqual(await client(url).recall("who?"), RECALLED);
  assert.equal(asked.length, 2);
});

test("a call takes no longer than it may, with all that is sent again", async (t) => {
  const { url, asked } = await serving(t, () => undefined);
  const error = await thrown(client(url).recall("who?", { timeoutMs: 1200 }));
  assert.deepEqual([error.code, error.status, error.unavailable], ["answer_timeout", 504, true]);
  assert.ok(asked.length > 1); // half of the time is left for another try
  asked.length = 0;
  const erased = client(url).operations.erase_agent({ path: { agent_id: "a" }, timeoutMs: 100 });
  assert.equal((await thrown(erased)).code, "answer_timeout");
  assert.ok(asked.length <= 1);
});

test("an aborted call rejects with the reason, while it is sent, while it waits and before", async (t) => {
  const reason = new Error("the user has left");
  let leave;
  const silent = await serving(t, () => leave.abort(reason));
  leave = new AbortController();
  assert.equal(await thrown(client(silent.url).recall("who?", { signal: leave.signal })), reason);
  assert.equal(await thrown(client(silent.url).recall("who?", { signal: leave.signal })), reason);
  assert.equal(silent.asked.length, 1);
  const refused = problem(503, "overloaded", { headers: { "Retry-After": "5" } });
  const busy = await serving(t, (...exchange) => {
    refused(...exchange);
    setTimeout(() => leave.abort(reason), 100);
  });
  leave = new AbortController();
  assert.equal(await thrown(client(busy.url).recall("who?", { signal: leave.signal })), reason);
  assert.equal(busy.asked.length, 1);
  const timed = client(busy.url).recall("who?", { signal: AbortSignal.timeout(1) });
  assert.equal((await thrown(timed)).name, "TimeoutError");
});

test("a redirection is not followed, and the credential goes nowhere else", async (t) => {
  const other = await serving(t, json(200, RECALLED));
  const { url } = await serving(t, (_, response) => response.writeHead(307, { Location: `${other.url}/recall` }).end());
  assert.equal((await thrown(client(url).recall("who?"))).code, "answer_not_understood");
  assert.equal(other.asked.length, 0);
});

test("nothing that is shown has the credential", async (t) => {
  const { url, asked } = await serving(t, lost);
  const memory = client(url);
  const error = await thrown(memory.recall("who?", { retries: 0 }));
  const shown = [inspect(memory, { depth: 9, showHidden: true }), JSON.stringify(memory), String(memory)];
  shown.push(inspect(error, { depth: 9, showHidden: true }), error.stack, JSON.stringify(error));
  for (const text of shown) assert.ok(!text.includes(TOKEN));
  assert.equal(asked[0].headers.authorization, `Bearer ${TOKEN}`);
  const wrong = () => client(url, { token: `${TOKEN}\nx` });
  assert.throws(wrong, (error) => error instanceof TypeError && !error.message.includes(TOKEN));
});

test("a client that cannot be one says what is wrong", () => {
  const said = (options) => {
    try {
      new MemoryClient(options);
    } catch (error) {
      return error.message;
    }
    return "";
  };
  assert.match(said({ url: "http://127.0.0.1:1" }), /^No credential/);
  for (const url of ["ftp://host", "memory", "http://host?query=1", "http://host#part"]) {
    assert.match(said({ url, token: TOKEN }), /^The url is not one of a service/);
  }
  assert.match(said({ url: "http://user:secret@host", token: TOKEN }), /^The url holds no user(?!.*secret)/);
  assert.match(said({ token: TOKEN, timeoutMs: 0 }), /has some time/);
  assert.match(said({ token: TOKEN, retries: -1 }), /has some time/);
  assert.throws(() => new MemoryClient({ token: TOKEN }).recall("who?"), /^TypeError: No agent/);
});

test("what is left out comes from the environment", async (t) => {
  const { url, asked } = await serving(t, json(200, RECALLED));
  Object.assign(process.env, { MEMORY_GATEWAY_URL: `${url}/`, MEMORY_GATEWAY_TOKEN: "t", MEMORY_GATEWAY_AGENT: "desk" });
  t.after(() => ["URL", "TOKEN", "AGENT"].forEach((name) => delete process.env[`MEMORY_GATEWAY_${name}`]));
  const memory = new MemoryClient();
  await memory.recall("who?");
  await memory.forAgent("other").recall("who?");
  await memory.recall("who?", { agent: "third", top_k: 3 });
  assert.deepEqual(asked.map(({ url, body }) => [url, JSON.parse(body).agent_id]), [
    ["/recall", "desk"],
    ["/recall", "other"],
    ["/recall", "third"],
  ]);
  assert.deepEqual(JSON.parse(asked[2].body), { agent_id: "third", query: "who?", top_k: 3 });
  assert.equal(asked[0].headers.authorization, "Bearer t");
});

test("ids and parameters are written so that they stay what they are", async (t) => {
  const { url, asked } = await serving(t, json(200, { memories: [] }));
  const { operations } = client(url);
  await operations.get_working({ path: { agent_id: "a/b", instance: "ä ?#", key: "%2e" } }).catch(() => undefined);
  await operations.list_memories({ query: { metadata: { n: 1, t: "ä&b" }, created_after: "2026-01-01T00:00:00+01:00" } });
  await operations.list_memories({ query: { limit: 5, cursor: undefined } });
  const [first, second, third] = asked.map((each) => new URL(each.url, url));
  assert.equal(first.pathname, "/working/a%2Fb/%C3%A4%20%3F%23/%252e");
  assert.deepEqual(JSON.parse(second.searchParams.get("metadata")), { n: 1, t: "ä&b" });
  assert.equal(second.searchParams.get("created_after"), "2026-01-01T00:00:00+01:00");
  assert.equal(third.search, "?limit=5");
  asked.length = 0;
  for (const id of ["..", ".", ""]) {
    await assert.rejects(operations.erase_agent({ path: { agent_id: id } }), TypeError);
  }
  assert.equal(asked.length, 0);
});

test("what is written is named, so that no retry writes it twice", async (t) => {
  const { url, asked } = await serving(t, inTurn(lost, json(201, { run_id: "r" })));
  const { operations } = client(url);
  await operations.start_run({ body: { agent_id: "a", agent_type: "t", input: 1 } }).catch(() => undefined);
  const [first, second] = asked.map(({ body }) => JSON.parse(body).run_id);
  assert.match(first, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  assert.equal(first, second);
  asked.length = 0;
  const episodes = Array.from({ length: 20 }, () => ({ type: "note", content: "c" }));
  episodes[3].episode_id = "01K2Z4M1V7Q8T3B5N6C7D8E9FA";
  await operations.append_episode({ path: { run_id: "r" }, body: { episodes } }).catch(() => undefined);
  const ids = JSON.parse(asked[0].body).episodes.map((each) => each.episode_id);
  assert.equal(ids[3], episodes[3].episode_id);
  ids.splice(3, 1);
  assert.deepEqual(ids, [...new Set(ids)].sort());
  assert.equal(episodes[0].episode_id, undefined);
});
