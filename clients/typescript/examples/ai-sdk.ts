// A chat that remembers: node ai-sdk.ts "My dog is called Rex", and later node ai-sdk.ts "What is my dog called?"

import { simulateReadableStream, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { MemoryClient } from "memory-gateway-client";
import { memoryMiddleware } from "memory-gateway-client/ai-sdk";

const model = wrapLanguageModel({
  model: scriptedModel(), // PUT YOUR MODEL HERE, such as openai("gpt-5"); this one needs no key
  middleware: memoryMiddleware(new MemoryClient()),
});
const { textStream } = streamText({ model, prompt: process.argv.slice(2).join(" ") });
for await (const text of textStream) process.stdout.write(text);
console.log();

function scriptedModel(): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    async doStream({ prompt }) {
      const parts = prompt.at(-1)?.content ?? [];
      const texts = [...parts].flatMap((part) => (typeof part === "object" && part.type === "text" ? [part.text] : []));
      const answer = scripted(texts.join("\n"), texts.at(-1) ?? "");
      const usage = { inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 0, text: 0, reasoning: 0 } };
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: "text-start", id: "1" },
            { type: "text-delta", id: "1", delta: answer },
            { type: "text-end", id: "1" },
            { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
          ],
        }),
      };
    },
  });
}

/** Notes what it is told, and answers a question with what is remembered first. */
function scripted(prompt: string, said: string): string {
  if (!said.endsWith("?")) return "I will keep that in mind.";
  const [, best] = /^- \d{4}-\d\d-\d\d[^"\n]*: (".*")$/m.exec(prompt) ?? [];
  if (best) return `You told me: ${JSON.parse(best)}`;
  return prompt.includes("memory is unavailable") ? "My memory is unavailable." : "You have not told me that.";
}
