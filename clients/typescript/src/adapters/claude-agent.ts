/// <reference types="node" />
// Memory for the Claude Agent SDK: hooks that recall before a prompt and store after the answer, and a server of tools.

import { readFile } from "node:fs/promises";

import type {
  HookCallback,
  HookCallbackMatcher,
  HookEvent,
  HookInput,
  McpSdkServerConfigWithInstance,
} from "@anthropic-ai/claude-agent-sdk";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import type { MemoryClient } from "../client.js";
import { VERSION } from "../generated/operations.js";
import { callTool, DEFINITIONS } from "../turn/tools.js";
import { type Said, type TurnCall, TurnMemory, type TurnOptions } from "../turn/turn.js";

const MOST_SESSIONS = 1_000;
const SHOWN_CHARACTERS = 200_000;
const TRANSCRIPT_CHARACTERS = 2_000_000;

/** What is known of a session: the words that its model has been shown, and the prompt that is not yet answered. */
interface Session {
  shown: string[];
  asked: string | undefined;
}

type Handler = (input: HookInput, call: TurnCall) => Promise<string>;

/** The memory of an agent's sessions: `query({ prompt, options: { hooks: memory.hooks } })`. */
export class ClaudeMemory {
  /** The hooks, for the options of `query`; those of your own stand beside them in the lists. */
  readonly hooks: Partial<Record<HookEvent, HookCallbackMatcher[]>>;
  private readonly turns: TurnMemory;
  private readonly sessions = new Map<string, Session>();

  constructor(
    private readonly client: MemoryClient,
    private readonly options: TurnOptions = {},
  ) {
    this.turns = new TurnMemory(client, options);
    this.hooks = {
      SessionStart: this.hook(async (input) => this.begun(input)),
      UserPromptSubmit: this.hook(async (input, call) => this.asked(input, call)),
      Stop: this.hook(async (input, call) => this.answered(input, call)),
      PreCompact: this.hook(async (input, call) => this.answered(input, call)),
      SessionEnd: this.hook(async (input, call) => this.ended(input, call)),
    };
  }

  /** Returns a server of the tools by which the model recalls and stores, for `mcpServers` of the options of `query`. */
  server(name = "memory"): McpSdkServerConfigWithInstance {
    const instance = new McpServer({ name, version: VERSION }, { capabilities: { tools: {} } });
    const tools = DEFINITIONS.map(({ name, title, description, inputSchema }) => ({
      name,
      title,
      description,
      inputSchema: inputSchema as unknown as { type: "object" },
      // Not behind a search of tools: the model is to think of them by itself.
      _meta: { "anthropic/alwaysLoad": true },
    }));
    instance.server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools }));
    instance.server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
      const definition = DEFINITIONS.find((each) => each.name === params.name);
      if (!definition) throw new Error(`There is no tool ${params.name}.`);
      const call = { agent: this.options.agent, signal };
      const { text, isError } = await callTool(this.client, definition, params.arguments, call);
      return { content: [{ type: "text" as const, text }], isError };
    });
    // As CommonJS it is declared apart, and is the same.
    return { type: "sdk", name, instance: instance as unknown as McpSdkServerConfigWithInstance["instance"] };
  }

  private hook(handler: Handler): HookCallbackMatcher[] {
    const callback: HookCallback = async (input, _, { signal }) => {
      // What a subagent is told and says is no part of the conversation.
      if (input.agent_id !== undefined) return {};
      const additionalContext = await handler(input, { session: input.session_id, signal });
      if (additionalContext === "" || input.hook_event_name !== "UserPromptSubmit") return {};
      return { hookSpecificOutput: { hookEventName: input.hook_event_name, additionalContext } };
    };
    return [{ hooks: [callback], ...(this.options.required ? { onFailure: "block" as const } : {}) }];
  }

  /** What the model was shown before a compaction it does not know any more. */
  private async begun(input: HookInput): Promise<string> {
    if (input.hook_event_name === "SessionStart" && input.source !== "resume") {
      this.keep(input.session_id, { shown: [], asked: this.sessions.get(input.session_id)?.asked });
    }
    return "";
  }

  private async asked(input: HookInput, call: TurnCall): Promise<string> {
    if (input.hook_event_name !== "UserPromptSubmit") return "";
    const session = this.sessions.get(input.session_id) ?? (await resumed(input.transcript_path));
    const known = await this.turns.recalled(input.prompt, [...session.shown, input.prompt].join("\n"), call);
    this.keep(input.session_id, { shown: [...session.shown, input.prompt, known], asked: input.prompt });
    return known;
  }

  /** Stores the prompt and the answer to it, if there is one. */
  private async answered(input: HookInput, call: TurnCall): Promise<string> {
    const session = this.sessions.get(input.session_id);
    const answer = input.hook_event_name === "Stop" ? (input.last_assistant_message ?? "") : "";
    const asked: Said[] = session?.asked === undefined ? [] : [{ role: "user", content: session.asked }];
    if (session) this.keep(input.session_id, { shown: [...session.shown, answer], asked: undefined });
    await this.turns.said([...asked, { role: "assistant", content: answer }], call);
    return "";
  }

  private async ended(input: HookInput, call: TurnCall): Promise<string> {
    await this.answered(input, call);
    this.sessions.delete(input.session_id);
    return "";
  }

  /** Keeps what is known of a session, and forgets the one that was asked longest ago where there are many. */
  private keep(id: string, session: Session): void {
    this.sessions.delete(id);
    this.sessions.set(id, { ...session, shown: latest(session.shown, SHOWN_CHARACTERS) });
    const [oldest] = this.sessions.keys();
    if (this.sessions.size > MOST_SESSIONS && oldest !== undefined) this.sessions.delete(oldest);
  }
}

/** Returns the last texts of so many characters at most. */
function latest(texts: string[], characters: number): string[] {
  let left = characters;
  return texts.slice(texts.findLastIndex((text) => (left -= text.length) < 0) + 1);
}

/** Returns what is known of a session that another process has begun: what its transcript has since the last compaction. */
async function resumed(transcript: string): Promise<Session> {
  const text = await readFile(transcript, "utf8").catch(() => ""); // a new session has none
  const lines = text.slice(-TRANSCRIPT_CHARACTERS).split("\n");
  const begun = lines.findLastIndex((line) => line.includes('"compact_boundary"')) + 1;
  return { shown: lines.slice(begun).flatMap(wordsOf), asked: undefined };
}

function wordsOf(line: string): string[] {
  try {
    return texts(JSON.parse(line));
  } catch {
    return []; // the first of a long transcript is cut
  }
}

function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [];
}
