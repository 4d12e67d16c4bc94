// Stores one memory and recalls another: node memory.ts CONTENT QUERY

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

type Schemas = components["schemas"];

const { MEMORY_GATEWAY_URL: baseUrl = "http://127.0.0.1:8000", MEMORY_GATEWAY_TOKEN: token = "" } = process.env;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

/** A call that was refused or failed: `code` is stable, the message is for people. */
class GatewayError extends Error {
  readonly code: string;

  constructor(response: Response, problem?: Schemas["Problem"]) {
    super(problem?.detail ?? `The answer was ${response.status}, without a reason.`);
    this.code = problem?.code ?? "unknown";
  }
}

/** Returns what a call was answered with, or throws what it was refused with. */
function answered<T>(call: { data?: T; error?: Schemas["Problem"]; response: Response }): T {
  if (call.data === undefined) throw new GatewayError(call.response, call.error);
  return call.data;
}

async function store(agent_id: string, content: string): Promise<void> {
  const body = { agent_id, content, metadata: { source: "example" } };
  answered(await client.POST("/store", { body }));
}

/** Returns the day that a memory speaks of, by which a reader tells the newer of two. */
function day({ occurred_at, created_at }: Schemas["EntryAnswer"]): string {
  return (occurred_at ?? created_at).slice(0, 10);
}

async function recall(agent_id: string, query: string): Promise<Schemas["EntryAnswer"][]> {
  const body = { agent_id, query, top_k: 3 };
  return answered(await client.POST("/recall", { body })).entries;
}

const agent = process.env.MEMORY_GATEWAY_AGENT ?? "default";
const [content = "", query = ""] = process.argv.slice(2);
try {
  await store(agent, content);
  for (const entry of await recall(agent, query)) console.log(entry.score.toFixed(2), day(entry), entry.content);
} catch (error) {
  if (!(error instanceof GatewayError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
