// Cloudflare's binding to Agent Memory, over HTTP: the types are Cloudflare's own, and so is every word on the wire. A
// Worker written against `env.MEMORY` runs with this in its place.
// https://developers.cloudflare.com/agent-memory/api/http-api/

interface Envelope<Result> {
  result: Result;
  success: boolean;
  errors: { code: number; message: string }[];
  messages: { code: number; message: string }[];
  result_info?: { cursor: string; per_page: number; count: number };
}

/** What JSON has in the place of dates. */
type Sent<Value> = { [Name in keyof Value]: Value[Name] extends Date ? string : Value[Name] };

export interface Service {
  /** As in https://api.cloudflare.com/client/v4. */
  url: string;
  account: string;
  token: string;
}

/** A refusal, with the code and the words of the envelope. */
export class AgentMemoryError extends Error {
  constructor(
    readonly status: number,
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export class HttpNamespace implements AgentMemoryNamespace {
  constructor(
    private readonly service: Service,
    private readonly name: string,
  ) {}

  async getProfile(profileName: string): Promise<AgentMemoryProfile> {
    return new HttpProfile(this.service, this.path(profileName));
  }

  async deleteProfile(profileName: string): Promise<void> {
    await call<null>(this.service, "DELETE", this.path(profileName));
  }

  private path(profileName: string): string {
    return `${this.name}/profiles/${encodeURIComponent(profileName)}`;
  }
}

class HttpProfile implements AgentMemoryProfile {
  constructor(
    private readonly service: Service,
    private readonly path: string,
  ) {}

  async get(memoryId: string): Promise<AgentMemoryMemory> {
    return memory((await this.call<Sent<AgentMemoryMemory>>("GET", `memories/${memoryId}`)).result);
  }

  async delete(memoryId: string): Promise<AgentMemoryMemory> {
    return memory((await this.call<Sent<AgentMemoryMemory>>("DELETE", `memories/${memoryId}`)).result);
  }

  async remember(incoming: AgentMemoryIncomingMemory): Promise<AgentMemoryMemory> {
    return memory((await this.call<Sent<AgentMemoryMemory>>("POST", "remember", incoming)).result);
  }

  async ingest(messages: Iterable<AgentMemoryMessage>, options: AgentMemoryIngestOptions = {}): Promise<void> {
    await this.call<null>("POST", "ingest", { messages: [...messages], ...options });
  }

  async getSummary(options: AgentMemoryGetSummaryOptions = {}): Promise<AgentMemoryGetSummaryResponse> {
    return (await this.call<AgentMemoryGetSummaryResponse>("POST", "summary", options)).result;
  }

  async recall(query: string, options: AgentMemoryRecallOptions = {}): Promise<AgentMemoryRecallResult> {
    return (await this.call<AgentMemoryRecallResult>("POST", "recall", { query, ...options })).result;
  }

  async list(options: AgentMemoryListMemoriesOptions = {}): Promise<AgentMemoryListMemoriesResult> {
    const query = new URLSearchParams();
    if (options.limit !== undefined) query.set("per_page", String(options.limit));
    if (options.cursor !== undefined) query.set("cursor", options.cursor);
    if (options.sessionId !== undefined) query.set("session_id", options.sessionId);
    if (options.type !== undefined) query.set("type", options.type);
    const page = await this.call<Sent<AgentMemoryMemoryListEntry>[]>("GET", `memories?${query}`);
    const memories = page.result.map(dated);
    return page.result_info?.cursor ? { memories, cursor: page.result_info.cursor } : { memories };
  }

  async deleteSession(sessionId: string): Promise<void> {
    await this.call<null>("DELETE", `sessions/${encodeURIComponent(sessionId)}`);
  }

  private call<Result>(method: string, path: string, body?: object): Promise<Envelope<Result>> {
    return call<Result>(this.service, method, `${this.path}/${path}`, body);
  }
}

async function call<Result>(service: Service, method: string, path: string, body?: object): Promise<Envelope<Result>> {
  const answer = await fetch(`${service.url}/accounts/${service.account}/agent-memory/namespaces/${path}`, {
    method,
    headers: { Authorization: `Bearer ${service.token}`, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const envelope: Envelope<Result> = await answer.json();
  if (!envelope.success) {
    const error = envelope.errors[0] ?? { code: 0, message: "no error is named" };
    throw new AgentMemoryError(answer.status, error.code, error.message);
  }
  return envelope;
}

function dated(entry: Sent<AgentMemoryMemoryListEntry>): AgentMemoryMemoryListEntry {
  return { ...entry, createdAt: new Date(entry.createdAt), updatedAt: new Date(entry.updatedAt) };
}

function memory(sent: Sent<AgentMemoryMemory>): AgentMemoryMemory {
  return { ...sent, ...dated(sent), content: sent.content };
}
