/** What the document does not say of an operation: whether it may be sent again, and by which ids it is known again. */

import type { Operations } from "./generated/operations.js";
import type { OperationInput, OperationRow } from "./operation.js";
import { ulid } from "./ulid.js";

type Id = keyof Operations;

/** What does something anew each time, or is refused the second time: with its answer lost it is not sent again. */
const ONCE: ReadonlySet<Id> = new Set<Id>([
  "agent_memory_memory_delete",
  "agent_memory_namespace_create",
  "agent_memory_namespace_delete",
  "agent_memory_profile_delete",
  "append_run_log",
  "delete_memories",
  "erase_agent",
  "erase_tenant",
  "import",
  "mint_credential",
  "put_blob",
  "restore_archived",
]);

/** The members of a body that name what is written, so that it is written once: at the top, or in each of a list. */
const NAMED: Partial<Record<Id, readonly [list: string | undefined, member: string]>> = {
  append_episode: ["episodes", "episode_id"],
  audit_run: ["calls", "call_id"],
  start_run: [undefined, "run_id"],
};

/** Whether an operation may be sent again when nobody knows what became of it. */
export function repeatable(id: Id, [method]: OperationRow, headers: Headers): boolean {
  if (headers.has("If-Match") || headers.has("If-None-Match")) return method === "GET";
  return !ONCE.has(id);
}

/** Whether an answer of this status is what was asked for, though it tells of a failure. */
export function tellsAll(id: Id, status: number): boolean {
  return id === "readyz" && status === 503;
}

/** Returns the input with a fresh id for what has none, so that no retry of the client writes it twice. */
export function named(id: Id, input: OperationInput): OperationInput {
  if (id === "store") {
    const { ["Idempotency-Key"]: key = ulid(), ...headers } = input.headers ?? {};
    return { ...input, headers: { ...headers, "Idempotency-Key": key } };
  }
  const [list, member] = NAMED[id] ?? [];
  if (member === undefined || typeof input.body !== "object" || input.body === null) return input;
  const body = input.body as Record<string, unknown>;
  if (list === undefined) return { ...input, body: withId(body, member) };
  const several = body[list];
  if (!Array.isArray(several)) return input;
  return { ...input, body: { ...body, [list]: several.map((each: Record<string, unknown>) => withId(each, member)) } };
}

function withId(body: Record<string, unknown>, member: string): Record<string, unknown> {
  return body[member] === undefined || body[member] === null ? { ...body, [member]: ulid() } : body;
}
