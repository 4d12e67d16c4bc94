// OpenAI's chat completions on loopback, answered by a model file: node server.js MODEL
// Its answer has the form that the request's JSON schema says, and what it says is its own: it is asked to be inventive.
// It prints its port.

import { createServer } from "node:http";
import { getLlama, LlamaChatSession } from "node-llama-cpp";

const llama = await getLlama({ gpu: false, build: "never", progressLogs: false });
const model = await llama.loadModel({ modelPath: process.argv[2] });
const context = await model.createContext({ contextSize: 4096, sequences: 1, threads: 1 });
const sequence = context.getSequence();
let turn = Promise.resolve();

/**
 * Returns a schema whose lists and texts have an end, which a small model does not find, and hold something; numbers are
 * those of the lines that the model is shown.
 */
function bounded(schema, numbers) {
  if (Array.isArray(schema)) return schema.map((each) => bounded(each, numbers));
  if (schema === null || typeof schema !== "object") return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, bounded(value, numbers)]));
  if (inner.type === "integer" && numbers.length > 0) return { enum: numbers };
  if (inner.type === "array") return { ...inner, minItems: inner.items?.type === "object" ? 3 : 1, maxItems: 4 };
  return inner.type === "string" && !inner.enum ? { ...inner, minLength: 12, maxLength: 100 } : inner;
}

async function complete({ messages, response_format, max_tokens }) {
  await sequence.clearHistory();
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  const said = messages.filter(({ role }) => role !== "system").map(({ content }) => content);
  const session = new LlamaChatSession({ contextSequence: sequence, systemPrompt: system.join("\n\n") });
  const schema = response_format?.json_schema?.schema;
  const numbers = [...new Set(said.join("\n").match(/(?<=^\[)\d+(?=\] )/gm) ?? [])].map(Number);
  const grammar = schema && (await llama.createGrammarForJsonSchema(bounded(schema, numbers)));
  const maxTokens = Math.min(max_tokens ?? 256, 700);
  try {
    const asked = await session.promptWithMeta(said.join("\n\n"), { grammar, maxTokens, temperature: 0.9, seed: 1 });
    const finish_reason = asked.stopReason === "maxTokens" ? "length" : "stop";
    return { finish_reason, message: { role: "assistant", content: asked.responseText } };
  } finally {
    session.dispose({ disposeSequence: false });
  }
}

async function read(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

const server = createServer(async (request, response) => {
  const body = await read(request);
  const answer = (turn = turn.catch(() => undefined).then(() => complete(body)));
  try {
    const choices = [{ index: 0, ...(await answer) }];
    const usage = { total_tokens: sequence.nextTokenIndex };
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ id: "1", object: "chat.completion", choices, usage }));
  } catch (error) {
    response.statusCode = 400;
    response.end(JSON.stringify({ error: { message: String(error), type: "invalid_request_error" } }));
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
