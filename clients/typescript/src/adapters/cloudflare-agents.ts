// Long-term memory for an agent of Cloudflare's Agents SDK: recalled before a turn, handed over after it.

import { MemoryClient } from "../client.js";
import { MemoryGatewayError } from "../errors.js";
import { callTool, DEFINITIONS, type ToolDefinition } from "../turn/tools.js";
import { type Kept, Transcripts } from "../turn/transcripts.js";
import { NOTICE, type TurnCall, TurnMemory, type TurnOptions, UNAVAILABLE } from "../turn/turn.js";

/** What the Worker's environment says of the service: variables, the secret, and a binding where there is one. */
export interface MemoryBindings {
  MEMORY_GATEWAY_URL?: string | undefined;
  /** The credential: a secret of the Worker. */
  MEMORY_GATEWAY_TOKEN?: string | undefined;
  /** The agent whose memory this is, where the options say none. */
  MEMORY_GATEWAY_AGENT?: string | undefined;
  /** Carries the requests in place of the network: a service binding to the Worker in front of the service. */
  MEMORY_GATEWAY?: { fetch(request: Request): Promise<Response> } | undefined;
}

/** A message of `AIChatAgent`, of which the text is read. */
export interface ChatMessage {
  readonly id: string;
  readonly role: "system" | "user" | "assistant";
  readonly parts: readonly { readonly type: string; readonly text?: string }[];
}

/** What `agents/context` takes as a block that can be searched. */
export interface SearchableContext {
  get(): Promise<string>;
  search(query: string): Promise<string>;
  set(key: string, content: string): Promise<void>;
}

const SUMMARY_MS = 3_000;

/**
 * The memory of one instance of an agent, as a field of it: `memory = new InstanceMemory(this, this.env)`.
 *
 * What is said is of the conversation that has the instance's name, unless the options say another.
 */
export class InstanceMemory {
  /** The client, for all else: the tools of `memory-gateway-client/ai-sdk`, and every operation. */
  readonly client: MemoryClient;
  private readonly turn: TurnMemory;
  private readonly transcripts: Transcripts;

  constructor(
    private readonly instance: { readonly name: string },
    bindings: MemoryBindings,
    private readonly options: TurnOptions = {},
  ) {
    const { MEMORY_GATEWAY: service } = bindings;
    this.client = new MemoryClient({
      url: bindings.MEMORY_GATEWAY_URL,
      token: bindings.MEMORY_GATEWAY_TOKEN,
      agent: options.agent ?? bindings.MEMORY_GATEWAY_AGENT,
      fetch: service && ((input, init) => service.fetch(new Request(input, init))),
    });
    if (this.client.agent === undefined) throw new TypeError("No agent: set MEMORY_GATEWAY_AGENT, or say agent.");
    this.turn = new TurnMemory(this.client, options);
    this.transcripts = new Transcripts(this.turn);
  }

  /**
   * Returns what to put into the prompt of a turn: memories that the messages do not say, that memory is unavailable, or "".
   *
   * @throws The reason of the signal, once it is aborted. With `required`, what went wrong.
   */
  recalled(messages: readonly ChatMessage[], call: TurnCall = {}): Promise<string> {
    const asked = messages.findLast(({ role }) => role === "user");
    return this.turn.recalled(asked ? text(asked) : "", messages.map(text).join("\n"), this.within(call));
  }

  /**
   * Hands over what was said since the last time that it was taken.
   *
   * @throws As `recalled`.
   */
  async handOver(messages: readonly ChatMessage[], call: TurnCall = {}): Promise<void> {
    const { session, ...rest } = this.within(call);
    await this.transcripts.handOver(session, async () => messages.flatMap(spoken), rest);
  }

  /** Makes a block of `agents/context`: the prompt gets a summary, and the model can search and add. */
  context(): SearchableContext {
    return {
      get: () => this.summary(),
      search: async (query) => (await this.called("recall_memory", { query })).text,
      set: async (_key, content) => {
        const { text: told, isError } = await this.called("store_memory", { content });
        if (isError) throw new Error(told);
      },
    };
  }

  private async summary(): Promise<string> {
    try {
      const timeoutMs = this.options.recallTimeoutMs ?? SUMMARY_MS;
      const path = { profile: this.client.agent ?? "" };
      const { summary } = await this.client.operations.summary({ path, body: {}, timeoutMs });
      return summary.trim() === "" ? "" : `${NOTICE}\n\n${summary}`;
    } catch (error) {
      return this.turn.failed(error) ? UNAVAILABLE : "";
    }
  }

  private called(name: ToolDefinition["name"], written: Record<string, unknown>) {
    const definition = DEFINITIONS.find((each) => each.name === name);
    if (!definition) throw new Error(`The service gives out no ${name}.`);
    return callTool(this.client, definition, written, { agent: this.options.agent });
  }

  private within(call: TurnCall): TurnCall & { session: string } {
    return { ...call, session: call.session ?? this.options.session ?? this.instance.name };
  }
}

function text({ parts }: ChatMessage): string {
  return parts.flatMap((part) => (part.type === "text" && part.text ? [part.text] : [])).join("\n\n");
}

function spoken(message: ChatMessage): Kept[] {
  return message.role === "system" ? [] : [{ id: message.id, role: message.role, content: text(message) }];
}
