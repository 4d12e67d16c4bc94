// The adapter in Claude Code itself, run by the Claude Agent SDK, whose model is a stand-in of the Messages API.

import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { query, type SDKUserMessage } from "@anthropic-ai/claude-agent-sdk";
import { ClaudeMemory } from "memory-gateway-client/claude-agent";

import { anyone, contents } from "./service.ts";
import { type Adapt, holds, SAID, type Turn } from "./suite.ts";

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.values(value).map(textOf).join("\n");
}

/** A stand-in of the Messages API, whose model makes the calls and then says one sentence; and the bodies it was sent. */
async function player(calls: Turn["calls"] = []) {
  const bodies: any[] = [];
  const answer = (body: any) => {
    bodies.push(body);
    const [name, input] = calls[bodies.length - 1] ?? [];
    const begun = name ? { type: "tool_use", id: `toolu_${bodies.length}`, name: `mcp__memory__${name}`, input: {} } : { type: "text", text: "" };
    const delta = name ? { type: "input_json_delta", partial_json: JSON.stringify(input) } : { type: "text_delta", text: SAID };
    const usage = { input_tokens: 10, output_tokens: 1 };
    const message = { id: `msg_${bodies.length}`, type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, stop_sequence: null, usage };
    const events = [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: begun },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: name ? "tool_use" : "end_turn", stop_sequence: null }, usage },
      { type: "message_stop" },
    ];
    return events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join("");
  };
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const asked = request.method === "POST" && /^\/v1\/messages(\?|$)/.test(request.url ?? "");
    response.setHeader("Content-Type", asked ? "text/event-stream" : "application/json");
    response.end(asked ? answer(JSON.parse(Buffer.concat(chunks).toString())) : "{}");
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const close = () => (server.closeAllConnections(), server.close());
  after(close);
  return { bodies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const home = mkdtempSync(join(tmpdir(), "claude-"));

/** Runs Claude Code with a memory on prompts, one after the other, and returns its session. */
async function run(memory: ClaudeMemory, url: string, prompts: string[], options: object = {}): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: home, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };
  let answered: () => void = () => undefined;
  async function* said(): AsyncGenerator<SDKUserMessage> {
    for (const content of prompts) {
      const done = new Promise<void>((resolve) => (answered = resolve));
      yield { type: "user", parent_tool_use_id: null, message: { role: "user", content } };
      await done;
    }
  }
  const allowedTools = ["mcp__memory__recall_memory", "mcp__memory__store_memory"];
  const given = { env, cwd: home, settingSources: [], allowedTools, hooks: memory.hooks, mcpServers: { memory: memory.server() }, ...options };
  let session = "";
  for await (const message of query({ prompt: said(), options: given as any })) {
    if (message.type === "result") {
      session = message.session_id;
      answered();
    }
  }
  return session;
}

const adapt: Adapt = (client, options) => {
  const memory = new ClaudeMemory(client, options);
  const sessions = new Map<string, string>();
  return async ({ say, session = "", history, calls, signal }) => {
    const { bodies, url } = await player(calls);
    const abortController = new AbortController();
    signal?.addEventListener("abort", () => abortController.abort(signal.reason));
    const resume = history && sessions.get(session);
    const id = await run(memory, url, [say], { abortController, ...(resume ? { resume } : {}) });
    sessions.set(session, id);
    if (bodies.length === 0) throw new Error("The model was not called.");
    return bodies.map(({ messages }) => textOf(messages));
  };
};

holds(adapt, { people: 2, sessions: 1 });

test("each memory is told once in a session, also in another process, and again after a compaction", async () => {
  const client = anyone();
  await client.store("My dog is called Rex");
  const { bodies, url } = await player();
  const told = () => textOf(bodies.at(-1).messages).split("My dog is called Rex").length - 1;
  const session = await run(new ClaudeMemory(client), url, ["What is my dog called?", "What was the name of my dog?"]);
  assert.equal(told(), 1);
  await run(new ClaudeMemory(client), url, ["Do you know what my dog is called?"], { resume: session });
  assert.equal(told(), 1);
  await run(new ClaudeMemory(client), url, ["/compact", "Please say what my dog is called"], { resume: session });
  assert.equal(told(), 1);
  assert.ok((await contents(client)).includes("Please say what my dog is called"));
});

test("of a long session only the last words are kept, so that what was told long ago is told again", async () => {
  const client = anyone();
  await client.store("My dog is called Rex");
  const [matcher] = new ClaudeMemory(client).hooks.UserPromptSubmit ?? [];
  const asked = async (prompt: string) => {
    const input = { hook_event_name: "UserPromptSubmit", session_id: "long", transcript_path: join(home, "none"), cwd: home, prompt };
    const given: any = await matcher?.hooks[0]?.(input as any, undefined, { signal: new AbortController().signal });
    return (given.hookSpecificOutput?.additionalContext ?? "").includes("My dog is called Rex");
  };
  const told = [await asked("What is my dog called?"), await asked("What was the name of my dog?")];
  for (const part of ["a", "b", "c"]) await asked(`A log: ${`${part} line\n`.repeat(12_000)}`);
  assert.deepEqual([...told, await asked("Do you know what my dog is called?")], [true, false, true]);
});
