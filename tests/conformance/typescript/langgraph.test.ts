// The store, held against LangGraph.js's own store in memory.

import assert from "node:assert/strict";
import { test } from "node:test";

import { type BaseStore, InMemoryStore, type Item } from "@langchain/langgraph-checkpoint";
import { MemoryStore } from "memory-gateway-client/langgraph";

import { admin, anyone, FAULTS } from "./service.ts";

const administrator = () => admin.forAgent(anyone().agent!);
const told = (item: Item | null) => item && { namespace: item.namespace, key: item.key, value: item.value };

/** Does the same to a store of ours and to LangGraph's, and compares what both say. */
async function same(steps: (store: BaseStore) => Promise<unknown>): Promise<void> {
  const [ours, theirs] = await Promise.all([new MemoryStore(administrator()), new InMemoryStore()].map(steps));
  assert.deepEqual(ours, theirs);
}

test("what is put is got, replaced and deleted", async () => {
  await same(async (store) => {
    const got: unknown[] = [];
    const look = async () => got.push(told(await store.get(["users", "ann"], "language")));
    await look();
    await store.put(["users", "ann"], "language", { bills: "Swedish", n: [1, null, { deep: true }] });
    await look();
    await store.put(["users", "ann"], "language", { bills: "German" });
    await store.put(["users", "bob"], "language", { bills: "German" });
    await look();
    await store.delete(["users", "ann"], "language");
    await look();
    got.push(told(await store.get(["users", "bob"], "language")));
    return got;
  });
});

test("a search lists what is below a prefix, by filter, limit and offset", async () => {
  await same(async (store) => {
    for (const [name, age] of [["ann", 30], ["bob", 40], ["eve", 50]] as const) {
      await store.put(["users", name], "profile", { name, age, tags: ["a", name] });
    }
    await store.put(["rooms"], "r1", { name: "ann" });
    const names = async (options: Parameters<BaseStore["search"]>[1], prefix = ["users"]) =>
      (await store.search(prefix, options)).map(({ value }) => value["name"]).sort();
    return [
      await names({}),
      await names({}, []),
      await names({}, ["users", "bob"]),
      await names({ filter: { age: { $gt: 35, $lte: 50 } } }),
      await names({ filter: { name: "eve" } }),
      await names({ filter: { name: { $ne: "eve" } } }),
      (await names({ limit: 2 })).length,
      (await names({ offset: 1 })).length,
      (await names({ offset: 3 })).length,
    ];
  });
});

test("namespaces are listed by prefix, suffix and depth", async () => {
  await same(async (store) => {
    for (const namespace of [["a", "b", "c"], ["a", "b", "d"], ["a", "x", "c"], ["z"]]) await store.put(namespace, "k", { n: 1 });
    return [
      await store.listNamespaces({}),
      await store.listNamespaces({ prefix: ["a", "b"] }),
      await store.listNamespaces({ suffix: ["c"] }),
      await store.listNamespaces({ prefix: ["a", "*", "c"] }),
      await store.listNamespaces({ maxDepth: 2 }),
    ].map((namespaces) => namespaces.map((namespace) => namespace.join(".")).sort());
  });
});

test("a search with a query gives the likeliest first with its score, and no superseded value", async () => {
  const store = new MemoryStore(administrator());
  await store.put(["users", "ann"], "language", { text: "Ann wants her bills in Danish" });
  await store.put(["users", "ann"], "language", { text: "Ann wants her bills in Swedish" });
  await store.put(["users", "ann"], "pet", { text: "Ann has a dog called Rex" });
  const found = await store.search(["users"], { query: "In which language are Ann's bills?" });
  assert.deepEqual(found.map(({ key }) => key), ["language", "pet"]);
  assert.equal(found[0]?.value["text"], "Ann wants her bills in Swedish");
  assert.ok((found[0]?.score ?? 0) > 0);
});

test("a batch is checked before any of it is done, and of a key the last put holds", async () => {
  const store = new MemoryStore(administrator());
  const put = (namespace: string[], value: Record<string, unknown>) => ({ namespace, key: "k", value });
  const large = "x".repeat(40_000);
  for (const wrong of [put([], {}), put(["a.b"], {}), put([""], {}), put(["a"], { large }), { ...put(["a"], {}), index: ["$"] }]) {
    await assert.rejects(store.batch([put(["a"], { n: 1 }), wrong]));
  }
  assert.equal(await store.get(["a"], "k"), null);
  await store.batch([put(["a"], { n: 1 }), put(["a"], { n: 2 })]);
  assert.deepEqual((await store.get(["a"], "k"))?.value, { n: 2 });
  assert.equal((await store.search(["a"])).length, 1);
});

test("a value is a row of the agent's memory, as the client for Python writes it, and no model is told of it", async () => {
  const client = administrator();
  await new MemoryStore(client).put(["users", "ann"], "language", { bills: "Swedish" });
  const { memories } = await client.operations.list_memories({ query: { agent_id: client.agent } });
  assert.deepEqual(memories.map(({ content, metadata }) => [JSON.parse(content), metadata]), [
    [
      { bills: "Swedish" },
      { store: "langgraph", "store.0": "users", "store.1": "ann", "store.namespace": "users.ann", "store.key": "language" },
    ],
  ]);
  assert.deepEqual((await client.recall("Swedish bills", { for_model: true })).entries, []);
  await client.store("not JSON", { metadata: memories[0]!.metadata });
  assert.deepEqual((await new MemoryStore(client).get(["users", "ann"], "language"))?.value, { bills: "Swedish" });
});

test("an outage is no empty store", async () => {
  const store = new MemoryStore(await FAULTS["is down"]!());
  for (const call of [() => store.get(["a"], "k"), () => store.search(["a"]), () => store.put(["a"], "k", {})]) {
    await assert.rejects(call(), { code: "service_unreachable" });
  }
});
