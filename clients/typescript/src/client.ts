import { exchange, type Sending } from "./exchange.js";
import { OPERATIONS, type Operations } from "./generated/operations.js";
import type {
  AssembledAnswer,
  AssembleRequest,
  IngestAnswer,
  IngestMessage,
  IngestRequest,
  ProfileRecallAnswer,
  RecallAnswer,
  RecallProfileRequest,
  RecallRequest,
  RememberedAnswer,
  RememberRequest,
  StoreAnswer,
  StoreRequest,
} from "./generated/types.js";
import type { CallOptions, OperationInput } from "./operation.js";
import { prepare } from "./request.js";
import { named, repeatable, tellsAll } from "./rules.js";
import { imported, type ImportLine, type ImportOptions, type ImportSummary, wholeExport } from "./transfer.js";

const LOCAL = "http://127.0.0.1:8000";

/** How a client is set up; what is left out comes from the environment, where there is one. */
export interface MemoryClientOptions {
  /** Where the service is; else MEMORY_GATEWAY_URL, else http://127.0.0.1:8000. */
  url?: string | undefined;
  /** The credential; else MEMORY_GATEWAY_TOKEN. */
  token?: string | undefined;
  /** The agent of every call that names no other; else MEMORY_GATEWAY_AGENT. */
  agent?: string | undefined;
  /** What sends requests, for proxies, service bindings or tests; else the platform's. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Milliseconds that a call may take with all that is sent again; 30,000. */
  timeoutMs?: number | undefined;
  /** How often a request is sent again, at most, where that is safe; 2. */
  retries?: number | undefined;
}

/** What the calls of the client take beside what they ask: the agent, where it is not the client's. */
export interface AgentOptions extends CallOptions {
  agent?: string | undefined;
}

type Rest<T, K extends keyof T> = Omit<T, K> & AgentOptions;

export interface StoreOptions extends Rest<StoreRequest, "agent_id" | "content"> {
  /** Names this store for 24 hours, so that sent again it is not done again; else a fresh one. */
  idempotencyKey?: string | undefined;
}
export type RecallOptions = Rest<RecallRequest, "agent_id" | "query">;
export type AskOptions = Rest<RecallProfileRequest, "query">;
export type RememberOptions = Rest<RememberRequest, "content">;
export type AssembleOptions = Rest<AssembleRequest, "agent_id">;
export interface IngestOptions extends Rest<IngestRequest, "messages"> {
  /** Tell what would be stored, and store nothing. */
  dry_run?: boolean | undefined;
}
export interface ExportOptions extends CallOptions {
  /** Only this agent's memories; else all of the tenant's. */
  agent?: string | undefined;
  /** Export the vectors too. */
  vectors?: boolean | undefined;
}

/** A client of one Memory Gateway. */
export class MemoryClient {
  readonly url: string;
  readonly agent: string | undefined;
  /** Every operation of the service, by its `operationId`. */
  readonly operations: Operations;
  readonly #token: string;
  readonly #sending: Omit<Sending, "signal">;

  constructor(options: MemoryClientOptions = {}) {
    this.url = checkedUrl(options.url || environment("MEMORY_GATEWAY_URL") || LOCAL);
    this.agent = options.agent || environment("MEMORY_GATEWAY_AGENT") || undefined;
    this.#token = checkedToken(options.token || environment("MEMORY_GATEWAY_TOKEN"));
    const { timeoutMs = 30_000, retries = 2, fetch = (input, init) => globalThis.fetch(input, init) } = options;
    if (!(timeoutMs > 0) || !(retries >= 0)) throw new TypeError("A call has some time, and no less than no retries.");
    this.#sending = { fetch, timeoutMs, retries };
    this.operations = this.#bound();
  }

  /** Returns a client of the same service for another agent. */
  forAgent(agent: string): MemoryClient {
    return new MemoryClient({ url: this.url, token: this.#token, agent, ...this.#sending });
  }

  /** Stores a memory. The same content again, for the same session and time, is the same memory. */
  store(content: string, options: StoreOptions = {}): Promise<StoreAnswer> {
    const { agent, idempotencyKey, ...rest } = options;
    const [call, fields] = divided(rest);
    const headers = { "Idempotency-Key": idempotencyKey };
    return this.operations.store({ ...call, headers, body: { ...fields, agent_id: this.#agent(agent), content } });
  }

  /** Returns the agent's memories that answer the query best. */
  recall(query: string, options: RecallOptions = {}): Promise<RecallAnswer> {
    const { agent, ...rest } = options;
    const [call, fields] = divided(rest);
    return this.operations.recall({ ...call, body: { ...fields, agent_id: this.#agent(agent), query } });
  }

  /** Takes in the messages of a conversation; what they say is recalled from then on. */
  ingest(messages: IngestMessage[], options: IngestOptions = {}): Promise<IngestAnswer> {
    const { agent, dry_run, ...rest } = options;
    const [call, fields] = divided(rest);
    const path = { profile: this.#agent(agent) };
    return this.operations.ingest({ ...call, path, query: { dry_run }, body: { ...fields, messages } });
  }

  /** Answers a question in the words of the agent's memories. */
  ask(question: string, options: AskOptions = {}): Promise<ProfileRecallAnswer> {
    const { agent, ...rest } = options;
    const [call, fields] = divided(rest);
    const path = { profile: this.#agent(agent) };
    return this.operations.recall_profile({ ...call, path, body: { ...fields, query: question } });
  }

  /** Stores a memory and returns it. */
  remember(content: string, options: RememberOptions = {}): Promise<RememberedAnswer> {
    const { agent, ...rest } = options;
    const [call, fields] = divided(rest);
    const path = { profile: this.#agent(agent) };
    return this.operations.remember({ ...call, path, body: { ...fields, content } });
  }

  /** Returns what the memory holds for a turn, in pieces that fit `max_tokens`. */
  assemble(options: AssembleOptions = {}): Promise<AssembledAnswer> {
    const { agent, ...rest } = options;
    const [call, fields] = divided(rest);
    return this.operations.assemble_context({ ...call, body: { ...fields, agent_id: this.#agent(agent) } });
  }

  /** Gives the lines of an export as they come, as an administrator; rejects where the export breaks off. */
  async *exportMemories(options: ExportOptions = {}): AsyncGenerator<string, void, undefined> {
    const { agent, vectors, ...call } = options;
    const answer = await this.operations.export({ ...call, query: { agent_id: agent, vectors } });
    yield* wholeExport(answer.lines());
  }

  /** Takes in the lines of an export while they come, as an administrator; what is there already stays as it is. */
  async importMemories(
    lines: Iterable<ImportLine> | AsyncIterable<ImportLine>,
    options: ImportOptions = {},
  ): Promise<ImportSummary> {
    return imported(this.operations, lines, options);
  }

  /** Shows where it asks and for whom, never the credential. */
  toJSON(): { url: string; agent: string | undefined } {
    return { url: this.url, agent: this.agent };
  }

  #agent(named: string | undefined): string {
    const agent = named ?? this.agent;
    if (agent === undefined) {
      throw new TypeError("No agent: say agent, or give the client one (agent or MEMORY_GATEWAY_AGENT).");
    }
    return agent;
  }

  #bound(): Operations {
    const call = (id: keyof Operations) => (input: OperationInput = {}) => this.#call(id, input);
    const ids = Object.keys(OPERATIONS) as (keyof Operations)[];
    return Object.freeze(Object.fromEntries(ids.map((id) => [id, call(id)]))) as unknown as Operations;
  }

  async #call(id: keyof Operations, input: OperationInput): Promise<unknown> {
    const row = OPERATIONS[id];
    const { timeoutMs = this.#sending.timeoutMs, retries = this.#sending.retries, signal } = input;
    const request = prepare(this.url, row, named(id, input));
    request.headers.set("Authorization", `Bearer ${this.#token}`);
    const told = { tellsAll: (status: number) => tellsAll(id, status), repeatable: repeatable(id, row, request.headers) };
    const { fetch } = this.#sending;
    return exchange({ request, row, ...told }, { fetch, timeoutMs, retries, signal: signal ?? undefined });
  }
}

/** Divides what a call takes into how it is made and what it asks. */
function divided<T extends CallOptions>(options: T): [CallOptions, Omit<T, keyof CallOptions>] {
  const { signal, timeoutMs, retries, ...fields } = options;
  return [{ signal, timeoutMs, retries }, fields];
}

/** Returns a variable of the environment; undefined where there is no environment, or none that may be read. */
function environment(name: string): string | undefined {
  try {
    return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];
  } catch {
    return undefined; // Deno refuses it without --allow-env
  }
}

function checkedUrl(url: string): string {
  const parts = URL.canParse(url) ? new URL(url) : undefined;
  if (!parts || !/^https?:$/.test(parts.protocol) || parts.search || parts.hash) {
    throw new TypeError("The url is not one of a service, such as https://memory.example.com.");
  }
  if (parts.username || parts.password) {
    throw new TypeError("The url holds no user and no password: the credential is token.");
  }
  return url.replace(/\/+$/, "");
}

function checkedToken(token: string | undefined): string {
  if (!token) throw new TypeError("No credential: say token, or set MEMORY_GATEWAY_TOKEN.");
  // A header that cannot be sent would be shown in the error.
  if (!/^[!-~]+$/.test(token)) {
    throw new TypeError("The token is not a credential: it has other characters than visible ASCII.");
  }
  return token;
}
