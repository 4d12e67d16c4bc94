// Long-term memory for OpenCode: a plugin that recalls before a prompt and stores what was said once the session is idle.

import { tool, type Hooks, type Plugin, type PluginInput, type ToolDefinition } from "@opencode-ai/plugin";
import { MemoryClient, type MemoryClientOptions } from "../client.js";
import type { MemoryGatewayError } from "../errors.js";
import { callTool, DEFINITIONS } from "../turn/tools.js";
import { type Kept, Transcripts } from "../turn/transcripts.js";
import { TurnMemory, type TurnOptions } from "../turn/turn.js";

/** What stands beside the plugin's name in opencode.json; `url`, `token` and `agent` else come from the environment. */
export interface OpenCodeOptions
  extends Pick<MemoryClientOptions, "url" | "token">,
    Omit<TurnOptions, "session" | "onUnavailable"> {
  /** False: the model gets no tools to recall and to store by itself. */
  tools?: boolean | undefined;
}

type Client = PluginInput["client"];
type Message = NonNullable<Awaited<ReturnType<Client["session"]["messages"]>>["data"]>[number];
type TextPart = Extract<Message["parts"][number], { type: "text" }>;

/** Makes the plugin with options of a program's own; those of opencode.json go before them. */
export function memoryPlugin(given: OpenCodeOptions = {}): Plugin {
  return async ({ client }, configured) => {
    const { url, token, tools = true, ...turns }: OpenCodeOptions = { ...given, ...configured };
    const memory = new MemoryClient({ url, token, agent: turns.agent });
    if (memory.agent === undefined) throw new TypeError("No agent: set MEMORY_GATEWAY_AGENT, or say agent.");
    const turn = new TurnMemory(memory, { ...turns, onUnavailable: (error) => void told(client, error) });
    const session = new Sessions(client, turn);
    return {
      ...(tools ? { tool: toolsOf(memory) } : {}),
      "chat.message": async ({ sessionID }, { message, parts }) => {
        const recalled = await session.recalled(sessionID, parts);
        if (recalled === "") return;
        const [first] = parts;
        parts.unshift({
          id: before(first?.id ?? message.id),
          sessionID,
          messageID: message.id,
          type: "text",
          text: recalled,
          synthetic: true,
        });
      },
      event: async ({ event }) => {
        if (event.type === "session.idle") await session.handOver(event.properties.sessionID);
      },
      "experimental.session.compacting": ({ sessionID }) => session.handOver(sessionID),
      dispose: () => session.settled(),
    } satisfies Hooks;
  };
}

/** What OpenCode keeps of its sessions. */
class Sessions {
  private readonly transcripts: Transcripts;

  constructor(
    private readonly client: Client,
    private readonly turn: TurnMemory,
  ) {
    this.transcripts = new Transcripts(turn);
  }

  /** Returns what to put before a prompt; nothing that the session has shown since it was compacted. */
  async recalled(session: string, parts: readonly Message["parts"][number][]): Promise<string> {
    if (await this.isOfAgent(session)) return "";
    const shown = await this.messages(session);
    const compacted = shown.findLastIndex(({ info }) => isSummary(info));
    const prompt = shown.slice(compacted + 1).flatMap((message) => message.parts.filter(isText));
    const said = texts(parts);
    return this.turn.recalled(said, [...prompt.map(({ text }) => text), said].join("\n"), { session });
  }

  /** Hands over what was said since the last time that it was taken. */
  handOver(session: string): Promise<void> {
    return this.transcripts.handOver(session, async () =>
      (await this.isOfAgent(session)) ? [] : (await this.messages(session)).flatMap(spoken),
    );
  }

  /** Waits for what is on its way: OpenCode ends when its plugins are disposed of. */
  settled(): Promise<void> {
    return this.transcripts.settled();
  }

  /** Whether it is a task that the model has given to an agent: what is said there, nobody has said. */
  private async isOfAgent(session: string): Promise<boolean> {
    const { data } = await this.client.session.get({ path: { id: session } });
    return data?.parentID !== undefined;
  }

  private async messages(session: string): Promise<Message[]> {
    const { data } = await this.client.session.messages({ path: { id: session } });
    return data ?? [];
  }
}

function isText(part: Message["parts"][number]): part is TextPart {
  return part.type === "text";
}

/** Returns what a person or the model has written, without what OpenCode and its plugins have. */
function texts(parts: readonly Message["parts"][number][]): string {
  const written = parts.filter(isText).filter(({ synthetic, ignored }) => !synthetic && !ignored);
  return written.map(({ text }) => text).join("\n\n");
}

function spoken({ info, parts }: Message): Kept[] {
  if (isSummary(info) || !isWhole(info)) return [];
  const occurred_at = new Date(info.time.created).toISOString();
  return [{ id: info.id, role: info.role, content: texts(parts), occurred_at }];
}

function isSummary(info: Message["info"]): boolean {
  return info.role === "assistant" && info.summary === true;
}

function isWhole(info: Message["info"]): boolean {
  return info.role === "user" || info.time.completed !== undefined;
}

/** Makes an id by which a part stands before another of the same moment: OpenCode orders parts by their ids. */
function before(id: string): string {
  const moment = id.replace(/^[a-z]+_/, "").slice(0, 12);
  return `prt_${moment}0${crypto.randomUUID().replaceAll("-", "").slice(0, 13)}`;
}

function toolsOf(memory: MemoryClient): Record<string, ToolDefinition> {
  const { string, number } = tool.schema;
  const args = {
    recall_memory: { query: string(), top_k: number().int().min(1).max(20).optional() },
    store_memory: { content: string() },
  };
  const made = DEFINITIONS.map((definition): [string, ToolDefinition] => [
    definition.name,
    tool({
      description: definition.description,
      args: args[definition.name],
      execute: async (written, { abort }) => (await callTool(memory, definition, written, { signal: abort })).text,
    }),
  ]);
  return Object.fromEntries(made);
}

/** Tells of an outage in OpenCode's log and, where there is one, on its screen. */
async function told(client: Client, { code, message: why }: MemoryGatewayError): Promise<void> {
  const message = `OpenCode goes on without its long-term memory (${code}: ${why})`;
  await client.app.log({ body: { service: "memory-gateway", level: "warn", message } });
  await client.tui.showToast({ body: { message, variant: "warning" } });
}

export default { id: "memory-gateway", server: memoryPlugin() };
