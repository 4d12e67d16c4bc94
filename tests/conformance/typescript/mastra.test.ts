// The adapter in Mastra's own agents, whose model plays a script.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { GatewayMemory, memoryTools } from "memory-gateway-client/mastra";

import { anyone, contents } from "./service.ts";
import { type Adapt, holds, SAID, type Turn } from "./suite.ts";

type Call = { prompt: { role: string; content: unknown }[] };

/** A model that makes the calls, and then says one sentence. */
function player(calls: Turn["calls"] = []) {
  const shown: string[] = [];
  const next = ({ prompt }: Call) => {
    shown.push(textOf(prompt));
    const call = calls[shown.length - 1];
    if (!call) return { content: [{ type: "text", text: SAID }], finishReason: "stop" };
    const [toolName, input] = call;
    const made = { type: "tool-call", toolCallId: `call-${shown.length}`, toolName, input: JSON.stringify(input) };
    return { content: [made], finishReason: "tool-calls" };
  };
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  const model = {
    specificationVersion: "v2" as const,
    provider: "player",
    modelId: "player",
    supportedUrls: {},
    doGenerate: async (call: Call) => ({ ...next(call), usage, warnings: [] }),
    doStream: async (call: Call) => {
      const { content: [made], finishReason } = next(call);
      const parts =
        made!.type === "text"
          ? [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: SAID }, { type: "text-end", id: "1" }]
          : [made];
      const events = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }];
      return { stream: ReadableStream.from(events) };
    },
  };
  return { model: model as any, shown };
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.values(value).map(textOf).join("\n");
}

const adapted = (way: "generate" | "stream"): Adapt => (client, options) => {
  const memory = new GatewayMemory(client, options);
  return async ({ say, session, history = [], calls, signal }) => {
    const { model, shown } = player(calls);
    const agent = new Agent({
      id: "bot",
      name: "bot",
      instructions: "Help.",
      model,
      tools: memoryTools(client),
      inputProcessors: [memory],
      outputProcessors: [memory],
    });
    const messages = [...history, { role: "user" as const, content: say }];
    const asked = { abortSignal: signal, maxRetries: 0, ...(session ? { memory: { thread: session, resource: "ann" } } : {}) };
    if (way === "generate") await agent.generate(messages as any, asked as any);
    else {
      const stream = await agent.stream(messages as any, asked as any);
      await stream.consumeStream();
      if (stream.error) throw stream.error;
    }
    return shown;
  };
};

holds(adapted("generate"));
describe("streamed", () => holds(adapted("stream")));

test("next to Mastra's own memory the thread keeps what was said, and never what was recalled", async () => {
  const client = anyone();
  await client.store("My dog is called Rex");
  const threads = new MockMemory();
  const memory = new GatewayMemory(client);
  const say = async (words: string) => {
    const { model, shown } = player();
    const agent = new Agent({ id: "bot", name: "bot", instructions: "Help.", model, memory: threads, inputProcessors: [memory], outputProcessors: [memory] });
    await agent.generate(words, { memory: { thread: "thread", resource: "ann" } });
    return shown[0] ?? "";
  };
  for (const words of ["What is my dog called?", "And what is my dog called now?"]) {
    const prompt = await say(words);
    assert.equal(prompt.split("My dog is called Rex").length - 1, 1, prompt);
  }
  const { messages } = await threads.recall({ threadId: "thread" });
  assert.equal(messages.length, 4);
  assert.doesNotMatch(JSON.stringify(messages), /Rex/);
  assert.ok((await contents(client)).includes("And what is my dog called now?"));
});

test("each resource can have an agent of its own", async () => {
  const client = anyone();
  const memory = new GatewayMemory(client, { agentOf: ({ resource }) => `${client.agent}-${resource}` });
  const { model } = player();
  const agent = new Agent({ id: "bot", name: "bot", instructions: "Help.", model, inputProcessors: [memory], outputProcessors: [memory] });
  await agent.generate("My dog is called Rex", { memory: { thread: "t", resource: "ann" } });
  assert.deepEqual(await contents(client), []);
  assert.deepEqual(await contents(client.forAgent(`${client.agent}-ann`)), [SAID, "My dog is called Rex"]);
});
