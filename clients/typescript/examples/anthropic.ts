// An assistant that remembers: node anthropic.ts "My dog is called Rex", and later node anthropic.ts "What is my dog called?"

import { Anthropic } from "@anthropic-ai/sdk";
import { MemoryClient } from "memory-gateway-client";
import { MemoryMessages } from "memory-gateway-client/anthropic";

// PUT YOUR MODEL HERE: new Anthropic(). This one needs no key: it follows a script.
const anthropic = new Anthropic({ apiKey: "none", fetch: scriptedModel });
const messages = new MemoryMessages(anthropic.messages, new MemoryClient());
const { content } = await messages.create({
  model: "claude-sonnet-5-5",
  max_tokens: 1024,
  messages: [{ role: "user", content: process.argv.slice(2).join(" ") }],
});
for (const block of content) if (block.type === "text") console.log(block.text);

async function scriptedModel(_: unknown, request?: { body?: unknown }): Promise<Response> {
  const { messages } = JSON.parse(String(request?.body)) as { messages: { content: string | { text: string }[] }[] };
  const texts = messages.flatMap(({ content }) => (typeof content === "string" ? [content] : content.map(({ text }) => text)));
  const text = scripted(texts.join("\n"), texts.at(-1) ?? "");
  const usage = { input_tokens: 0, output_tokens: 0 };
  const message = { id: "msg", type: "message", role: "assistant", model: "scripted", content: [{ type: "text", text }], usage };
  return Response.json({ ...message, stop_reason: "end_turn", stop_sequence: null });
}

/** Notes what it is told, and answers a question with what is remembered first. */
function scripted(prompt: string, said: string): string {
  if (!said.endsWith("?")) return "I will keep that in mind.";
  const [, best] = /^- \d{4}-\d\d-\d\d[^"\n]*: (".*")$/m.exec(prompt) ?? [];
  if (best) return `You told me: ${JSON.parse(best)}`;
  return prompt.includes("memory is unavailable") ? "My memory is unavailable." : "You have not told me that.";
}
