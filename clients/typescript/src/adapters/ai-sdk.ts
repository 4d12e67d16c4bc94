// Memory for the Vercel AI SDK: a middleware that recalls before the model is called and stores after, and tools.

import { jsonSchema, type LanguageModelMiddleware, tool, type ToolSet } from "ai";

import type { MemoryClient } from "../client.js";
import { callTool, DEFINITIONS } from "../turn/tools.js";
import { type Said, type TurnCall, TurnMemory, type TurnOptions } from "../turn/turn.js";

type Params = Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"];
type Message = Params["prompt"][number];
type StreamResult = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>;
type Part = StreamResult["stream"] extends ReadableStream<infer P> ? P : never;

/** What `providerOptions: { memoryGateway: ... }` of a call says: whose memory it is, and which conversation. */
export type CallMemory = Readonly<{ agent?: string; session?: string }>;

export interface MemoryMiddlewareOptions extends TurnOptions {
  /** Returns whose memory a call uses, and which conversation it is of. Absent: as its `providerOptions` say. */
  memoryOf?: ((params: Params) => CallMemory | undefined) | undefined;
}

/** What a call has to do with memory: what the user has said in this turn, and whose memory it is. */
interface Turn {
  said: Said[];
  call: TurnCall;
}

const TURNS = 100;

/**
 * Makes a middleware for `wrapLanguageModel`: what is remembered goes before the words of the user, and what was said is
 * stored once the model has answered, by `generateText`, `streamText` and what is made of them.
 *
 * Whose memory a call uses is said by `providerOptions: { memoryGateway: { agent, session } }`, else by the options.
 */
export function memoryMiddleware(client: MemoryClient, options: MemoryMiddlewareOptions = {}): LanguageModelMiddleware {
  const memory = new TurnMemory(client, options);
  const turns = new WeakMap<Params, Turn>();
  const blocks = new Map<string, string>();
  const memoryOf = options.memoryOf ?? (({ providerOptions }) => providerOptions?.["memoryGateway"] as CallMemory | undefined);

  /** Returns what goes before a turn; its later steps, after the tools of the model, keep what it began with. */
  async function block(prompt: Params["prompt"], query: string, call: TurnCall): Promise<string> {
    const key = JSON.stringify([call.agent, call.session, query]);
    const begun = prompt.at(-1)?.role === "user" ? undefined : blocks.get(key);
    const known = begun ?? (await memory.recalled(query, prompt.map(textOf).join("\n"), call));
    blocks.delete(key);
    blocks.set(key, known);
    for (const oldest of blocks.keys()) if (blocks.size > TURNS) blocks.delete(oldest);
    return known;
  }

  return {
    specificationVersion: "v4",
    async transformParams({ params }) {
      const { prompt, abortSignal } = params;
      const at = prompt.findLastIndex(({ role }) => role === "user");
      const user = prompt[at];
      if (user?.role !== "user") return params;
      const call = { ...memoryOf(params), signal: abortSignal };
      const known = await block(prompt, textOf(user), call);
      const told = { ...user, content: [{ type: "text" as const, text: known }, ...user.content] };
      const transformed = { ...params, prompt: known === "" ? prompt : prompt.with(at, told) };
      turns.set(transformed, { said: saidIn(prompt, at), call });
      return transformed;
    },
    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const turn = turns.get(params);
      if (turn && result.finishReason.unified !== "tool-calls") {
        const content = result.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
        await memory.said([...turn.said, { role: "assistant", content }], turn.call);
      }
      return result;
    },
    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      const turn = turns.get(params);
      return { stream: turn ? stored(stream, memory, turn) : stream, ...rest };
    },
  };
}

/** Gives a stream on, and stores what was said before it ends; of an answer that nobody waits for, what the user said. */
function stored(stream: ReadableStream<Part>, memory: TurnMemory, { said, call }: Turn): ReadableStream<Part> {
  const reader = stream.getReader();
  let answer = "";
  let goesOn = false;
  return new ReadableStream<Part>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) {
        if (value.type === "text-delta") answer += value.delta;
        if (value.type === "finish") goesOn = value.finishReason.unified === "tool-calls";
        controller.enqueue(value);
        return;
      }
      if (!goesOn) await memory.said([...said, { role: "assistant", content: answer }], call);
      controller.close();
    },
    async cancel(reason) {
      await Promise.all([reader.cancel(reason), memory.said(said, { ...call, signal: undefined })]);
    },
  });
}

/** Returns the tools by which the model itself recalls and stores, for `tools` of a call. */
export function memoryTools(client: MemoryClient, options: { agent?: string | undefined } = {}): ToolSet {
  const tools = DEFINITIONS.map((definition) => {
    const execute = async (written: unknown, { abortSignal }: { abortSignal?: AbortSignal | undefined }) => {
      const { text } = await callTool(client, definition, written, { ...options, signal: abortSignal });
      return text;
    };
    const inputSchema = jsonSchema<unknown>(definition.inputSchema as object);
    return [definition.name, tool({ description: definition.description, inputSchema, execute })] as const;
  });
  return Object.fromEntries(tools);
}

function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** Returns what the user has said since the model said something, up to this message. */
function saidIn(prompt: readonly Message[], at: number): Said[] {
  const before = prompt.slice(0, at).findLastIndex(({ role }) => role !== "user");
  return prompt.slice(before + 1, at + 1).map((message) => ({ role: "user", content: textOf(message) }));
}
