// An agent that remembers: node claude-agent.ts "My dog is called Rex", and later node claude-agent.ts "What is my dog called?"

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { query } from "@anthropic-ai/claude-agent-sdk";
import { MemoryClient } from "memory-gateway-client";
import { ClaudeMemory } from "memory-gateway-client/claude-agent";

const memory = new ClaudeMemory(new MemoryClient());
// PUT YOUR MODEL HERE: leave env out. This one needs no key: it follows a script.
const model = createServer(scriptedModel).listen(0, "127.0.0.1");
await new Promise((listening) => model.once("listening", listening));
const ANTHROPIC_BASE_URL = `http://127.0.0.1:${(model.address() as AddressInfo).port}`;
const env = { ...process.env, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY: "sk-ant-none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };

const prompt = process.argv.slice(2).join(" ");
for await (const message of query({ prompt, options: { env, hooks: memory.hooks, mcpServers: { memory: memory.server() } } })) {
  if (message.type === "result" && message.subtype === "success") console.log(message.result);
}
model.closeAllConnections();
model.close();

async function scriptedModel(request: IncomingMessage, response: ServerResponse) {
  let body = "";
  for await (const chunk of request) body += chunk;
  response.setHeader("Content-Type", "text/event-stream");
  if (!request.url?.startsWith("/v1/messages?")) return response.end("");
  const { messages } = JSON.parse(body) as { messages: { role: string; content: string | { text?: string }[] }[] };
  const texts = messages.map(({ content }) => (typeof content === "string" ? content : content.map(({ text = "" }) => text).join("\n")));
  const text = scripted(texts.join("\n"), prompt);
  const usage = { input_tokens: 0, output_tokens: 0 };
  const message = { id: "msg", type: "message", role: "assistant", model: "scripted", content: [], stop_reason: null, stop_sequence: null, usage };
  const events = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}

/** Notes what it is told, and answers a question with what is remembered first. */
function scripted(prompt: string, said: string): string {
  if (!said.endsWith("?")) return "I will keep that in mind.";
  const [, best] = /^- \d{4}-\d\d-\d\d[^"\n]*: (".*")$/m.exec(prompt) ?? [];
  if (best) return `You told me: ${JSON.parse(best)}`;
  return prompt.includes("memory is unavailable") ? "My memory is unavailable." : "You have not told me that.";
}
