// Memory for Anthropic's SDK: its memory tool (memory_20250818) over memories, and messages that recall and store.

import type { Anthropic } from "@anthropic-ai/sdk";
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import type { BetaRunnableTool, BetaToolRunContext } from "@anthropic-ai/sdk/lib/tools/BetaRunnableTool";
import { ToolError } from "@anthropic-ai/sdk/lib/tools/ToolError";

import type { MemoryClient } from "../client.js";
import { carryOut } from "../directory/commands.js";
import { Files } from "../directory/files.js";
import { NotDone } from "../directory/paths.js";
import { callTool, DEFINITIONS, isGatewayError, told } from "../turn/tools.js";
import { type Said, type TurnCall, TurnMemory, type TurnOptions } from "../turn/turn.js";

type Messages = Anthropic["messages"];
type Params = Anthropic.MessageCreateParamsNonStreaming;
type StreamParams = Parameters<Messages["stream"]>[0];
type Content = string | readonly { type: string }[];
type RequestOptions = Parameters<Messages["create"]>[1];
type Handlers = Parameters<typeof betaMemoryTool>[0];

export interface MemoryToolOptions {
  /** The agent whose files these are. Absent: the client's. */
  agent?: string | undefined;
  /** Where the prompt is cached up to the tool. */
  cache_control?: Anthropic.Beta.BetaCacheControlEphemeral;
}

/**
 * Returns Claude's memory directory over the memory of an agent, for `tools` of the SDK's tool runner.
 *
 * An edit stores a new version of the file and keeps the older ones; a deletion forgets them, which can be taken back.
 * It needs a credential for this agent alone, or an administrator's. What goes wrong is told to the model, as the tool's
 * documentation words it or as the service does, with `is_error`.
 */
export function memoryTool(client: MemoryClient, options: MemoryToolOptions = {}): BetaRunnableTool {
  const { agent = client.agent, ...properties } = options;
  if (agent === undefined) throw new TypeError("No agent: say agent, or give the client one.");
  const run: BetaRunnableTool["run"] = async (written, context) => {
    const signal = context?.signal ?? undefined;
    try {
      return await carryOut(new Files(client, agent, { signal }), written);
    } catch (error) {
      if (error instanceof NotDone) throw new ToolError(error.message);
      throw isGatewayError(error) ? new ToolError(told(error)) : error;
    }
  };
  const handlers: Handlers = { view: run, create: run, str_replace: run, insert: run, delete: run, rename: run };
  return { ...betaMemoryTool(handlers, properties), run };
}

/** Returns the tools by which the model recalls and stores memories, for `tools` of the SDK's tool runner. */
export function memoryTools(client: MemoryClient, options: { agent?: string | undefined } = {}): BetaRunnableTool[] {
  return DEFINITIONS.map((definition) => ({
    name: definition.name,
    description: definition.description,
    input_schema: definition.inputSchema as unknown as Anthropic.Tool.InputSchema,
    parse: (written: unknown) => written,
    run: async (written: unknown, context?: BetaToolRunContext) => {
      const { text, isError } = await callTool(client, definition, written, { ...options, signal: context?.signal });
      if (isError) throw new ToolError(text);
      return text;
    },
  }));
}

/** The part of the parameters of a message that memory has to do with. */
export interface MessagesParams {
  messages: { role: string; content: Content }[];
  system?: Content | undefined;
}

/** Messages with memory: `create` and `stream` recall before the user's words and store what was said. */
export class MemoryMessages {
  private readonly turns: TurnMemory;

  constructor(
    private readonly messages: Pick<Messages, "create" | "stream">,
    client: MemoryClient,
    options: TurnOptions = {},
  ) {
    this.turns = new TurnMemory(client, options);
  }

  /** Creates a message as the SDK does. */
  async create(params: Params, options?: RequestOptions): Promise<Anthropic.Message> {
    const call = { signal: options?.signal };
    const message = await this.messages.create(await this.recalled(params, call), options);
    await this.stored(params, message, call);
    return message;
  }

  /** Streams a message as the SDK does; it is stored once the stream has ended, which `stored` of the answer awaits. */
  async stream(params: StreamParams, options?: RequestOptions): Promise<MemoryStream> {
    const call = { signal: options?.signal };
    const stream = this.messages.stream(await this.recalled(params, call), options);
    const stored = stream.finalMessage().then((message) => this.stored(params, message, call));
    stored.catch(() => undefined); // the stream itself tells of what ends it
    return Object.assign(stream, { stored });
  }

  /**
   * Returns these parameters with what is remembered before the user's last words; those given stay as they are.
   *
   * `create` and `stream` do so; it and `stored` are for other calls, such as a tool runner.
   */
  async recalled<P extends MessagesParams>(params: P, call: TurnCall = {}): Promise<P> {
    const at = params.messages.findLastIndex((each) => each.role === "user" && textOf(each.content) !== "");
    const user = params.messages[at];
    if (!user) return params;
    const prompt = [params.system ?? "", ...params.messages.map(({ content }) => content)].map(textOf).join("\n");
    const known = await this.turns.recalled(textOf(user.content), prompt, call);
    if (known === "") return params;
    const words = typeof user.content === "string" ? [{ type: "text", text: user.content }] : user.content;
    // The results of tools have to stand first in their message.
    const results = words.filter(({ type }) => type === "tool_result");
    const others = words.filter(({ type }) => type !== "tool_result");
    const content = [...results, { type: "text", text: known }, ...others];
    return { ...params, messages: params.messages.with(at, { ...user, content }) };
  }

  /** Stores the user's last words, where the message answers them, and what the message says. */
  async stored(params: MessagesParams, message: { content: Content }, call: TurnCall = {}): Promise<void> {
    const last = params.messages.at(-1);
    const user: Said[] = last?.role === "user" ? [{ role: "user", content: textOf(last.content) }] : [];
    await this.turns.said([...user, { role: "assistant", content: textOf(message.content) }], call);
  }
}

/** A stream of the SDK, and when what was said in it is stored. */
export type MemoryStream = ReturnType<Messages["stream"]> & { stored: Promise<void> };

/** Returns the words of a content, without the calls of tools and their results. */
function textOf(content: Content): string {
  if (typeof content === "string") return content;
  const texts = content.filter((block): block is { type: "text"; text: string } => block.type === "text");
  return texts.map(({ text }) => text).join("\n");
}
