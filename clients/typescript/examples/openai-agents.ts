// An agent that remembers: node openai-agents.ts "My dog is called Rex", and later node openai-agents.ts "What is my dog called?"

import { Agent, type Model, type ModelRequest, Runner, Usage } from "@openai/agents";
import { MemoryClient } from "memory-gateway-client";
import { AgentMemory } from "memory-gateway-client/openai-agents";

const memory = new AgentMemory(new MemoryClient());
const agent = new Agent({
  name: "assistant",
  instructions: "You are a helpful assistant.",
  model: scriptedModel(), // PUT YOUR MODEL HERE, such as "gpt-5"; this one needs no key
});
// Tracing is on by default, and sends every conversation to OpenAI.
const runner = new Runner({ tracingDisabled: true });
const { finalOutput } = await runner.run(agent, process.argv.slice(2).join(" "), memory.options());
console.log(finalOutput);

function scriptedModel(): Model {
  return {
    async getResponse({ input, systemInstructions = "" }: ModelRequest) {
      const last = typeof input === "string" ? input : input.at(-1);
      const said = typeof last === "object" && "content" in last ? String(last.content) : String(last);
      const content = [{ type: "output_text" as const, text: scripted(systemInstructions, said) }];
      return { usage: new Usage(), output: [{ type: "message", role: "assistant", status: "completed", content }] };
    },
    getStreamedResponse() {
      throw new Error("This model answers at once.");
    },
  };
}

/** Notes what it is told, and answers a question with what is remembered first. */
function scripted(prompt: string, said: string): string {
  if (!said.endsWith("?")) return "I will keep that in mind.";
  const [, best] = /^- \d{4}-\d\d-\d\d[^"\n]*: (".*")$/m.exec(prompt) ?? [];
  if (best) return `You told me: ${JSON.parse(best)}`;
  return prompt.includes("memory is unavailable") ? "My memory is unavailable." : "You have not told me that.";
}
