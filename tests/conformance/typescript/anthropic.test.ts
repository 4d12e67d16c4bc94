// The adapter in Anthropic's own SDK, whose Messages API plays a script: in messages, in streams and in tool runners.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";

import { Anthropic } from "@anthropic-ai/sdk";
import { BetaLocalFilesystemMemoryTool } from "@anthropic-ai/sdk/tools/memory/node";
import type { MemoryClient } from "memory-gateway-client";
import { MemoryMessages, memoryTool, memoryTools } from "memory-gateway-client/anthropic";

import { admin, alone, anyone, FAULTS } from "./service.ts";
import { type Adapt, holds, SAID } from "./suite.ts";

const ASKED = { model: "claude-sonnet-5-5", max_tokens: 1024 };

/** The SDK, whose model makes the calls, and then says one sentence; and the bodies that it was sent. */
function player(calls: [name: string, written: object][] = []) {
  const bodies: any[] = [];
  const fetch = async (_: unknown, request?: { body?: unknown }) => {
    const body = JSON.parse(String(request?.body));
    bodies.push(body);
    const [name, input] = calls[bodies.length - 1] ?? [];
    const block = name ? { type: "tool_use", id: `toolu_${bodies.length}`, name, input } : { type: "text", text: SAID };
    const stop_reason = name ? "tool_use" : "end_turn";
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: "msg", type: "message", role: "assistant", model: ASKED.model, stop_sequence: null, usage };
    if (!body.stream) return Response.json({ ...message, content: [block], stop_reason });
    const events = [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: SAID } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
      { type: "message_stop" },
    ];
    const stream = events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join("");
    return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  };
  const anthropic = new Anthropic({ apiKey: "none", maxRetries: 0, fetch });
  const again = (others: [name: string, written: object][] = []) => {
    calls = others;
    bodies.length = 0;
    return { anthropic, bodies };
  };
  return { anthropic, bodies, again };
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.values(value).map(textOf).join("\n");
}

const adapted = (way: "create" | "stream"): Adapt => (client, options) => {
  const conversations = new Map<string | undefined, { played: ReturnType<typeof player>; memory: MemoryMessages }>();
  const conversation = (session: string | undefined) => {
    const played = player();
    const there = { played, memory: new MemoryMessages(played.anthropic.messages, client, { ...options, ...(session ? { session } : {}) }) };
    return conversations.get(session) ?? (conversations.set(session, there), there);
  };
  return async ({ say, session, history = [], calls, signal }) => {
    const { played, memory } = conversation(session);
    const { anthropic, bodies } = played.again(calls);
    const params = { ...ASKED, messages: [...history, { role: "user" as const, content: say }] };
    if (calls) {
      const call = { ...(await memory.recalled(params)), tools: memoryTools(client) };
      await memory.stored(params, await anthropic.beta.messages.toolRunner(call).runUntilDone());
    } else if (way === "create") {
      await memory.create(params, signal ? { signal } : undefined);
    } else {
      const stream = await memory.stream(params, signal ? { signal } : undefined);
      assert.equal(await stream.finalText(), SAID);
      await stream.stored;
    }
    // The tool runner goes on with a thread: it sends what is new alone.
    return bodies.map((_, at) => textOf(bodies.slice(calls ? 0 : at, at + 1).map(({ messages }) => messages)));
  };
};

holds(adapted("create"));
describe("streamed", () => holds(adapted("stream")));

test("the parameters that are given stay as they are, and the results of tools stand first in their message", async () => {
  const client = anyone();
  await client.store("My dog is called Rex");
  const memory = new MemoryMessages(player().anthropic.messages, client);
  const result = { type: "tool_result" as const, tool_use_id: "toolu_1", content: "done" };
  const params = { ...ASKED, messages: [{ role: "user" as const, content: [result, { type: "text" as const, text: "What is my dog called?" }] }] };
  const before = structuredClone(params);
  const { messages } = await memory.recalled(params);
  assert.deepEqual(params, before);
  assert.deepEqual((messages[0]!.content as { type: string }[]).map(({ type }) => type), ["tool_result", "text", "text"]);
});

const NOTES = "/memories/notes.txt";
const CALLS: [string, object][] = [
  { command: "view", path: "/memories" },
  { command: "create", path: NOTES, file_text: "I drink tea\n" },
  { command: "create", path: NOTES, file_text: "I drink coffee\n" },
  { command: "str_replace", path: NOTES, old_str: "tea", new_str: "milk" },
  { command: "view", path: NOTES },
  { command: "view", path: "/memories/../secrets.env" },
  { command: "forget", path: NOTES },
].map((input) => ["memory", input]);

/** Returns of each call of the memory tool whether it failed and what the model was told. */
async function run(client: MemoryClient, calls: [string, object][]): Promise<[boolean, string][]> {
  const { anthropic, bodies } = player(calls);
  const messages = [{ role: "user" as const, content: "Go on" }];
  await anthropic.beta.messages.toolRunner({ ...ASKED, messages, tools: [memoryTool(client)] }).runUntilDone();
  assert.deepEqual(bodies[0].tools, [{ type: "memory_20250818", name: "memory" }]);
  const results = bodies.slice(1).flatMap(({ messages }) => messages.at(-1).content);
  return results.map(({ is_error = false, content }: any) => [is_error, content]);
}

test("the SDK's tool runner carries out what the model asks of its memory directory", async () => {
  const client = await alone();
  const [viewed, created, again, replaced, shown, outside, unknown] = await run(client, CALLS);
  assert.deepEqual(viewed, [false, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0B\t/memories"]);
  assert.deepEqual(created, [false, `File created successfully at: ${NOTES}`]);
  assert.deepEqual(again, [true, `Error: File ${NOTES} already exists`]);
  assert.equal(replaced![0], false);
  assert.deepEqual(shown, [false, `Here's the content of ${NOTES} with line numbers:\n     1\tI drink milk\n     2\t`]);
  assert.deepEqual(outside, [true, "Path /memories/../secrets.env would escape /memories directory"]);
  assert.match(unknown![1], /There are view, create/);
  assert.equal(unknown![0], true);
  const { entries } = await client.recall("What do I drink?", { for_model: true });
  assert.deepEqual(entries, [], "the files are rows of a program");
});

test("what was written in one process is there in the next, and a deletion is there too", async () => {
  const client = await alone();
  await run(client, CALLS.slice(1, 2));
  assert.match((await run(client, [["memory", { command: "view", path: NOTES }]]))[0]![1], /I drink tea/);
  const moved = [["memory", { command: "rename", old_path: NOTES, new_path: "/memories/a/b.txt" }], ["memory", { command: "delete", path: "/memories/a" }], ["memory", { command: "view", path: "/memories/a" }]];
  const [renamed, deleted, gone] = await run(client, moved as [string, object][]);
  assert.deepEqual([renamed, deleted], [[false, `Successfully renamed ${NOTES} to /memories/a/b.txt`], [false, "Successfully deleted /memories/a"]]);
  assert.deepEqual(gone, [true, "The path /memories/a does not exist. Please provide a valid path."]);
});

for (const [fault, client] of Object.entries(FAULTS)) {
  test(`where the service ${fault}, the model is told, and sees no empty directory`, async () => {
    const [[isError, told] = []] = await run(await client(), [["memory", { command: "view", path: "/memories" }]]);
    assert.equal(isError, true);
    assert.match(told ?? "", /Go on without long-term memory|[Cc]redential|minute/);
  });
}

test("an administrator's credential reads the files of any agent, and a tool without an agent is refused", async () => {
  const client = await alone();
  await run(client, CALLS.slice(1, 2));
  assert.match((await run(admin.forAgent(client.agent!), [["memory", { command: "view", path: NOTES }]]))[0]![1], /I drink tea/);
  assert.throws(() => memoryTool(admin), /No agent/);
});

const NAMES = ["a", "a/x.txt", "b", "a/y", "a/z/w.txt", "b/.hidden", "notes.txt", "c/d/e"];
const WORDS = ["tea", "coffee\n", "tea\nmilk\n", "", "\n\n", "one\ntwo\nthree\nfour\nfive\nsix", "tea\ntea\n", "a\r\nb\n"];

/** Returns commands as a model could write them; the same for the same seed. */
function chosen(seed: number, count: number): any[] {
  let state = seed;
  const below = (limit: number) => ((state = (state * 1_103_515_245 + 12_345) % 2 ** 31), Math.floor((state / 2 ** 31) * limit));
  const of = <T>(choices: readonly T[]): T => choices[below(choices.length)]!;
  const path = () => `/memories/${of(NAMES)}`;
  const commands = [
    () => ({ command: "view", path: of(["/memories", path()]) }),
    () => ({ command: "view", path: path(), view_range: [below(4), of([-1, 2, 9])] }),
    () => ({ command: "create", path: path(), file_text: of(WORDS) }),
    () => ({ command: "create", path: path(), file_text: of(WORDS) }),
    () => ({ command: "str_replace", path: path(), old_str: of(["tea", "two"]), new_str: of(WORDS) }),
    () => ({ command: "delete", path: path() }),
    () => ({ command: "rename", old_path: path(), new_path: path() }),
  ];
  return Array.from({ length: count }, () => of(commands)());
}

/** Returns what is told, as far as the documentation and the SDK agree on it. */
async function outcome(doing: () => unknown): Promise<string> {
  try {
    const told = String(await doing()).replace(/^[\d.]+[BKM]\t(\S*?)\/?$/gm, "$1");
    return told;
  } catch (error) {
    const told = (error as Error).message.replace(/^Error: /, "").replace(/\.$/, "").replace(/\. Please provide a valid path$/, "");
    // They tell another one where a command is wrong in two ways, or a file stands where a directory has to be.
    return /^(The destination|The path|File|EEXIST|ENOTDIR|EINVAL|ENOENT|\/memories\/)|is not a file|EISDIR/.test(told) ? "refused" : told;
  }
}

test("it tells what the SDK's own tool tells of the same commands", async () => {
  const client = await alone();
  const root = await mkdtemp(join(tmpdir(), "memories-"));
  const theirs: any = await BetaLocalFilesystemMemoryTool.init(root);
  const ours = memoryTool(client);
  const said = new Set<string>();
  for (const command of chosen(7, 150)) {
    const expected = await outcome(() => theirs[command.command](command));
    await withoutEmptyDirectories(join(root, "memories"));
    const told = await outcome(() => ours.run(command));
    assert.equal(told, expected, JSON.stringify(command));
    said.add(told.replace(/[^a-zA-Z]*\/memories[^]*|`[^]*/, ""));
  }
  assert.ok(said.size >= 7, [...said].join("\n"));
});

/** Removes the directories of the SDK's tool in which no file is left: ours has none. */
async function withoutEmptyDirectories(folder: string, top = true): Promise<void> {
  for (const each of await readdir(folder, { withFileTypes: true })) {
    if (each.isDirectory()) await withoutEmptyDirectories(join(folder, each.name), false);
  }
  if (!top && (await readdir(folder)).length === 0) await rmdir(folder);
}
