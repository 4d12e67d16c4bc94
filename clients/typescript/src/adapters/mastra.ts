// Memory for Mastra's agents: a processor that recalls before the model is called and stores after, and tools.

import { parseMemoryRequestContext } from "@mastra/core/memory";
import type {
  ProcessLLMRequestArgs,
  ProcessLLMRequestResult,
  Processor,
  ProcessOutputResultArgs,
} from "@mastra/core/processors";
import { createTool } from "@mastra/core/tools";

import type { MemoryClient } from "../client.js";
import { callTool, DEFINITIONS } from "../turn/tools.js";
import { type Said, type TurnCall, TurnMemory, type TurnOptions } from "../turn/turn.js";

type RequestContext = NonNullable<ProcessLLMRequestArgs["requestContext"]>;
type Request = Pick<ProcessLLMRequestArgs, "requestContext" | "messageList" | "abortSignal">;
type Prompt = ProcessLLMRequestArgs["prompt"];
type Message = ProcessOutputResultArgs["messages"][number];

/** What a request is made with, by `memory: { resource, thread }` of `generate` and `stream`. */
export interface MastraRequest {
  resource: string | undefined;
  thread: string | undefined;
  context: RequestContext | undefined;
}

export interface MastraMemoryOptions extends TurnOptions {
  /** Returns the agent whose memory a request uses, such as one for each `resource`. Absent: one for all requests. */
  agentOf?: ((request: MastraRequest) => string | undefined) | undefined;
}

/**
 * Recalls before the model is called and stores after the agent has answered.
 *
 * Give the same one to `inputProcessors` and to `outputProcessors`. Next to Mastra's own `Memory`, which keeps threads,
 * it is what is known across them: what it recalls is in the prompt alone, and never in the thread.
 */
export class GatewayMemory implements Processor<"memory-gateway"> {
  readonly id = "memory-gateway";
  readonly name = "Memory Gateway";
  private readonly turns: TurnMemory;

  constructor(
    client: MemoryClient,
    private readonly options: MastraMemoryOptions = {},
  ) {
    this.turns = new TurnMemory(client, options);
  }

  /** Puts what is remembered before the user's words, the same at each step of a turn. */
  async processLLMRequest(request: ProcessLLMRequestArgs): Promise<ProcessLLMRequestResult> {
    const { prompt, state } = request;
    const at = prompt.findLastIndex(({ role }) => role === "user");
    const user = prompt[at];
    if (user?.role !== "user") return undefined;
    const query = textOf(user);
    if (state["asked"] !== query) {
      state["known"] = await this.turns.recalled(query, prompt.map(textOf).join("\n"), this.call(request));
      state["asked"] = query;
    }
    const known = state["known"];
    if (typeof known !== "string" || known === "") return undefined;
    return { prompt: prompt.with(at, { ...user, content: [{ type: "text", text: known }, ...user.content] }) };
  }

  /** Stores what the user has said in this turn, and the answer. */
  async processOutputResult(turn: ProcessOutputResultArgs): Promise<ProcessOutputResultArgs["messageList"]> {
    const { messageList, result } = turn;
    const input = messageList.get.input.db();
    const news = input.slice(input.findLastIndex(({ role }) => role === "assistant") + 1);
    const user = news.filter(({ role }) => role === "user").map((each): Said => ({ role: "user", content: said(each) }));
    const answer: Said = { role: "assistant", content: result.text };
    await this.turns.said([...user, answer], this.call(turn));
    return messageList;
  }

  private call({ requestContext: context, messageList, abortSignal: signal }: Request): TurnCall {
    // An agent without a memory of Mastra's own has them in its messages alone.
    const { resourceId, thread } = parseMemoryRequestContext(context) ?? {};
    const message = messageList?.get.all.db().findLast(({ threadId }) => threadId);
    const [resource, session] = [resourceId ?? message?.resourceId, thread?.id ?? message?.threadId];
    return { agent: this.options.agentOf?.({ resource, thread: session, context }), session, signal };
  }
}

/** Returns the tools by which the model itself recalls and stores, for `tools` of an agent. */
export function memoryTools(client: MemoryClient, options: { agent?: string | undefined } = {}) {
  const tools = DEFINITIONS.map((definition) =>
    createTool({
      id: definition.name,
      description: definition.description,
      inputSchema: withoutFormats(definition.inputSchema),
      execute: async (written, { abortSignal }) => {
        const { text } = await callTool(client, definition, written, { ...options, signal: abortSignal });
        return text;
      },
    }),
  );
  return Object.fromEntries(tools.map((tool) => [tool.id, tool]));
}

/** Returns a schema without formats, of which Mastra warns: the service itself checks them. */
function withoutFormats(schema: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === "format" ? undefined : value)));
}

function textOf({ content }: Prompt[number]): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function said({ content: { parts, content } }: Message): string {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.join("\n") || (content ?? "");
}
