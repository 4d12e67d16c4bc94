// The adapter in the calls of the Vercel AI SDK, whose model plays a script.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { generateText, isStepCount, simulateReadableStream, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { memoryMiddleware, memoryTools } from "memory-gateway-client/ai-sdk";

import { anyone, contents } from "./service.ts";
import { type Adapt, holds, SAID, type Turn } from "./suite.ts";

type Given = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;
type Part = Given["content"][number];
type Event = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer E> ? E : never;

const usage: Given["usage"] = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** A model that makes the calls, and then says one sentence. */
function player(calls: Turn["calls"] = []) {
  const shown: string[] = [];
  const next = (prompt: unknown): [Part, Given["finishReason"]] => {
    shown.push(textOf(prompt));
    const call = calls[shown.length - 1];
    if (!call) return [{ type: "text", text: SAID }, { unified: "stop", raw: "stop" }];
    const [toolName, input] = call;
    const made = { type: "tool-call" as const, toolCallId: `call-${shown.length}`, toolName, input: JSON.stringify(input) };
    return [made, { unified: "tool-calls", raw: "tool_calls" }];
  };
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const [part, finishReason] = next(prompt);
      return { content: [part], finishReason, usage, warnings: [] };
    },
    doStream: async ({ prompt }) => {
      const [part, finishReason] = next(prompt);
      const [first, second] = [SAID.slice(0, 5), SAID.slice(5)];
      const events: Event[] =
        part.type === "text"
          ? [
              { type: "text-start", id: "1" },
              { type: "text-delta", id: "1", delta: first },
              { type: "text-delta", id: "1", delta: second },
              { type: "text-end", id: "1" },
            ]
          : [part as Event];
      return { stream: simulateReadableStream({ chunks: [...events, { type: "finish", finishReason, usage }] }) };
    },
  });
  return { model, shown };
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.values(value).map(textOf).join("\n");
}

const adapted = (way: "generate" | "stream"): Adapt => (client, options) => {
  const middleware = memoryMiddleware(client, options);
  return async ({ say, session, history = [], calls, signal }) => {
    const { model, shown } = player(calls);
    const asked = {
      model: wrapLanguageModel({ model, middleware }),
      messages: [...history, { role: "user" as const, content: say }],
      tools: memoryTools(client),
      stopWhen: isStepCount(5),
      maxRetries: 0,
      ...(session ? { providerOptions: { memoryGateway: { session } } } : {}),
      ...(signal ? { abortSignal: signal } : {}),
    };
    if (way === "generate") await generateText(asked);
    else {
      let failure: unknown;
      const { textStream } = streamText({ ...asked, onError: ({ error }) => void (failure = error) });
      let answer = "";
      for await (const text of textStream) answer += text;
      if (failure) throw failure;
      assert.equal(answer, SAID);
    }
    return shown;
  };
};

holds(adapted("generate"));
describe("streamed", () => holds(adapted("stream")));

test("whose memory a call uses is said by the call", async () => {
  const client = anyone();
  const model = wrapLanguageModel({ model: player().model, middleware: memoryMiddleware(client) });
  const other = client.forAgent(`${client.agent}-ann`);
  const providerOptions = { memoryGateway: { agent: other.agent!, session: "s" } };
  await generateText({ model, prompt: "My dog is called Rex", providerOptions });
  assert.deepEqual(await contents(client), []);
  assert.deepEqual(await contents(other), [SAID, "My dog is called Rex"].sort());
});

test("of an answer that nobody waits for, what the user said is stored", async () => {
  const client = anyone();
  const model = wrapLanguageModel({ model: player().model, middleware: memoryMiddleware(client) });
  const { stream } = await model.doStream({ prompt: [{ role: "user", content: [{ type: "text", text: "My dog is called Rex" }] }] });
  const reader = stream.getReader();
  await reader.read();
  await reader.cancel();
  assert.deepEqual(await contents(client), ["My dog is called Rex"]);
});
