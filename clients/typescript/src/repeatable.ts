import type { Operations } from "./generated/operations.js";
import type { OperationRow } from "./operation.js";

/** What starts or adds something anew each time: it is not sent again where nobody knows what became of it. */
const ONCE: ReadonlySet<string> = new Set<keyof Operations>([
  "append_run_log",
  "erase_agent",
  "erase_tenant",
  "import",
  "put_blob",
]);

/** Whether an operation may be sent again when nobody knows what became of it. */
export function repeatable(id: keyof Operations, [method]: OperationRow, headers: Headers): boolean {
  if (headers.has("If-Match") || headers.has("If-None-Match")) return method === "GET";
  return !ONCE.has(id);
}
