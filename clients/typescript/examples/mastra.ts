// An agent of Mastra that remembers: node mastra.ts "My dog is called Rex", and later node mastra.ts "What is my dog called?"

import { Agent } from "@mastra/core/agent";
import { MemoryClient } from "memory-gateway-client";
import { GatewayMemory } from "memory-gateway-client/mastra";

const memory = new GatewayMemory(new MemoryClient());
const agent = new Agent({
  id: "assistant",
  name: "assistant",
  instructions: "You are a helpful assistant.",
  model: scriptedModel(), // PUT YOUR MODEL HERE, such as "openai/gpt-5"; this one needs no key
  inputProcessors: [memory],
  outputProcessors: [memory],
});
const { text } = await agent.generate(process.argv.slice(2).join(" "));
console.log(text);

function scriptedModel() {
  const answer = ({ prompt }: { prompt: readonly { role: string; content: unknown }[] }) => {
    const texts = prompt.map(({ content }) => (typeof content === "string" ? content : textOf(content)));
    const said = texts[prompt.findLastIndex(({ role }) => role === "user")] ?? "";
    return scripted(texts.join("\n"), said);
  };
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  return {
    specificationVersion: "v2" as const,
    provider: "scripted",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: async (call: any) => ({
      content: [{ type: "text" as const, text: answer(call) }],
      finishReason: "stop" as const,
      usage,
      warnings: [],
    }),
    doStream: async (call: any) => ({
      stream: new ReadableStream({
        start(stream) {
          stream.enqueue({ type: "stream-start", warnings: [] });
          stream.enqueue({ type: "text-start", id: "1" });
          stream.enqueue({ type: "text-delta", id: "1", delta: answer(call) });
          stream.enqueue({ type: "text-end", id: "1" });
          stream.enqueue({ type: "finish", finishReason: "stop", usage });
          stream.close();
        },
      }),
    }),
  };
}

function textOf(content: unknown): string {
  return (content as { type: string; text?: string }[]).map((part) => part.text ?? "").join("\n");
}

/** Notes what it is told, and answers a question with what is remembered first. */
function scripted(prompt: string, said: string): string {
  if (!said.endsWith("?")) return "I will keep that in mind.";
  const [, best] = /^- \d{4}-\d\d-\d\d[^"\n]*: (".*")$/m.exec(prompt) ?? [];
  if (best) return `You told me: ${JSON.parse(best)}`;
  return prompt.includes("memory is unavailable") ? "My memory is unavailable." : "You have not told me that.";
}
