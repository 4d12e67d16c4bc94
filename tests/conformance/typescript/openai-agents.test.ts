// The adapter in whole runs of the OpenAI Agents SDK, whose model plays a script.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Agent, type AgentInputItem, MemorySession, type ModelRequest, Runner } from "@openai/agents";
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from "@openai/agents/testing";
import { AgentMemory, memoryTools } from "memory-gateway-client/openai-agents";

import { anyone, contents } from "./service.ts";
import { type Adapt, holds, SAID, type Turn } from "./suite.ts";

/** A model that makes the calls, and then says one sentence. */
function player(calls: Turn["calls"] = []): ScriptedModel {
  const made = calls.map(([name, written], at) => [functionCall(name, written, { callId: `call-${at}` })]);
  return new ScriptedModel([...made, [assistantMessage(SAID)]]);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.values(value).map(textOf).join("\n");
}

const shown = ({ systemInstructions, input }: Readonly<ModelRequest>) => [systemInstructions, textOf(input)].join("\n");
const runner = new Runner({ tracingDisabled: true });
const bot = (model: ScriptedModel, tools: ReturnType<typeof memoryTools> = []) =>
  new Agent({ name: "bot", instructions: "Help.", model, tools });

const adapted = (stream: boolean): Adapt => (client, options) => {
  const memory = new AgentMemory(client, options);
  return async ({ say, session, history = [], calls, signal }) => {
    const model = player(calls);
    const initialItems = history.map(({ role, content }): AgentInputItem =>
      role === "user" ? { role, content } : { role, status: "completed", content: [{ type: "output_text", text: content }] },
    );
    const kept = session ? { session: new MemorySession({ sessionId: session, initialItems }) } : {};
    const given = memory.options({ ...kept, ...(signal ? { signal } : {}) });
    try {
      if (stream) {
        const run = await runner.run(bot(model, memoryTools(client)), say, { ...given, stream: true });
        for await (const _ of run);
        await run.completed;
      } else {
        await runner.run(bot(model, memoryTools(client)), say, given);
      }
    } catch (error) {
      assert.equal(model.calls.length, 0);
      throw error;
    }
    return model.calls.map(({ request }) => shown(request));
  };
};

holds(adapted(false));
describe("streamed", () => holds(adapted(true)));

test("a session keeps what was said, and never what was recalled", async () => {
  const client = anyone();
  await client.store("My dog is called Rex");
  const session = new MemorySession();
  const memory = new AgentMemory(client);
  for (const say of ["What is my dog called?", "And what is my dog called now?"]) {
    const model = player();
    await runner.run(bot(model), say, memory.options({ session }));
    assert.equal(shown(model.calls[0]!.request).split("My dog is called Rex").length - 1, 1);
  }
  const items = await session.getItems();
  assert.equal(items.length, 4);
  assert.doesNotMatch(JSON.stringify(items), /Rex/);
  assert.ok((await contents(client)).includes("And what is my dog called now?"));
});

test("without a session the turn alone is stored, however much of the conversation is its input", async () => {
  const client = anyone();
  const memory = new AgentMemory(client);
  const input: AgentInputItem[] = [
    { role: "user", content: "Long ago" },
    { role: "assistant", status: "completed", content: [{ type: "output_text", text: "Indeed" }] },
    { role: "user", content: "My dog is called Rex" },
  ];
  await runner.run(bot(player()), input, memory.options());
  assert.deepEqual(await contents(client), [SAID, "My dog is called Rex"]);
});

test("a filter of the program's own comes first", async () => {
  const client = anyone();
  await client.store("My dog is called Rex");
  const model = new ScriptedModel([modelResponder(() => [assistantMessage(SAID)])]);
  const callModelInputFilter = ({ modelData }: { modelData: { input: AgentInputItem[] } }) => ({ ...modelData, instructions: "Be brief." });
  await runner.run(bot(model), "What is my dog called?", new AgentMemory(client).options({ callModelInputFilter }));
  assert.match(shown(model.calls[0]!.request), /^Be brief\.\n\n[^]*"My dog is called Rex"/);
});
