// Memory for the OpenAI Agents SDK: options of a run that recall before the model is called and store after, and tools.

import {
  type AgentInputItem,
  type CallModelInputFilter,
  type FunctionTool,
  MemorySession,
  type Session,
  type SessionHistoryTransactionArgs,
} from "@openai/agents";

import type { MemoryClient } from "../client.js";
import { callTool, DEFINITIONS } from "../turn/tools.js";
import { type Said, TurnMemory, type TurnOptions } from "../turn/turn.js";

/** Those options of a run that memory has to do with. */
export interface RunMemoryOptions {
  session?: Session;
  callModelInputFilter?: CallModelInputFilter<any>;
  signal?: AbortSignal;
}

/** The memory of an agent's runs: `run(agent, input, memory.options({ session }))`. */
export class AgentMemory {
  private readonly turns: TurnMemory;
  private readonly sessions = new WeakMap<Session, Session>();

  constructor(client: MemoryClient, options: TurnOptions = {}) {
    this.turns = new TurnMemory(client, options);
  }

  /**
   * Returns options of a run with memory: what is remembered is part of the instructions of each call of the model, and
   * of no session; what the session is given is stored. Without a session there is one for this run alone.
   */
  options<T extends RunMemoryOptions>(
    given: T = {} as T,
  ): T & { session: Session; callModelInputFilter: CallModelInputFilter<any> } {
    const { callModelInputFilter: before, signal } = given;
    const session = given.session ?? new MemorySession({ sessionId: this.turns.session });
    return { ...given, session: this.session(session), callModelInputFilter: this.filter(before, signal) };
  }

  /** Returns a filter of the model's input, for one run, that adds what is remembered to the instructions. */
  filter(before?: CallModelInputFilter<any>, signal?: AbortSignal): CallModelInputFilter<any> {
    let known: { query: string; block: string } | undefined;
    return async (call) => {
      const data = before ? await before(call) : call.modelData;
      const query = textOf(data.input.findLast(isUser));
      // A turn that goes on with the results of tools keeps what it began with.
      if (known?.query !== query || isUser(data.input.at(-1))) {
        const prompt = [data.instructions, ...data.input.map(textOf)].join("\n");
        known = { query, block: await this.turns.recalled(query, prompt, { signal }) };
      }
      if (known.block === "") return data;
      return { ...data, instructions: [data.instructions, known.block].filter(Boolean).join("\n\n") };
    };
  }

  /** Returns a session that is this one, and of which what is said is stored. */
  session<S extends Session>(session: S): S {
    const there = this.sessions.get(session) as S | undefined;
    const kept = there ?? new Proxy(session, { get: (target, key) => this.member(target, key) });
    this.sessions.set(session, kept).set(kept, kept);
    return kept;
  }

  /** Returns a member of a session; what adds to it stores too. */
  private member(session: Session, key: string | symbol): unknown {
    const value: unknown = Reflect.get(session, key, session);
    if (typeof value !== "function") return value;
    const added = ADDING[key];
    if (!added) return value.bind(session);
    return async (first: never, ...rest: unknown[]) => {
      await value.call(session, first, ...rest);
      await this.turns.said(lastTurn(added(first).flatMap(said)), { session: await session.getSessionId() });
    };
  }
}

/** What the members that add to a session add, by their first argument. */
const ADDING: Readonly<Record<string | symbol, ((first: never) => AgentInputItem[]) | undefined>> = {
  addItems: (items: AgentInputItem[]) => items,
  addItemsWithCompactionOwnership: (items: AgentInputItem[]) => items,
  applyHistoryTransaction: ({ transaction }: SessionHistoryTransactionArgs) =>
    transaction.type === "append_items" ? transaction.items : transaction.replacement,
};

/** Returns the tools by which the model itself recalls and stores, for `tools` of an agent. */
export function memoryTools(client: MemoryClient, options: { agent?: string | undefined } = {}): FunctionTool<any, any>[] {
  return DEFINITIONS.map((definition) => ({
    type: "function",
    name: definition.name,
    description: definition.description,
    parameters: definition.inputSchema as FunctionTool["parameters"],
    strict: false, // strict knows no object with free keys, such as metadata
    needsApproval: async () => false,
    isEnabled: async () => true,
    invoke: async (_run, written, details) => {
      const { text } = await callTool(client, definition, written, { ...options, signal: details?.signal });
      return text;
    },
  }));
}

function isUser(item: AgentInputItem | undefined): boolean {
  return item !== undefined && "role" in item && item.role === "user";
}

function textOf(item: AgentInputItem | undefined): string {
  if (item === undefined || !("content" in item) || item.content === undefined) return "";
  if (typeof item.content === "string") return item.content;
  return item.content.flatMap((part) => ("text" in part && typeof part.text === "string" ? [part.text] : [])).join("\n");
}

function said(item: AgentInputItem): Said[] {
  if (!("role" in item) || (item.role !== "user" && item.role !== "assistant")) return [];
  return [{ role: item.role, content: textOf(item) }];
}

/** Returns the words of the user that nobody has answered before, and what answers them: a run may be given more. */
function lastTurn(all: readonly Said[]): Said[] {
  const last = all.findLastIndex(({ role }) => role === "user");
  const before = all.slice(0, last + 1).findLastIndex(({ role }) => role === "assistant");
  return all.slice(before + 1 <= last ? before + 1 : 0);
}
