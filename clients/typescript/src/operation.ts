/** What every call takes beside what it asks. */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason, and is not tried again. */
  signal?: AbortSignal | null | undefined;
  /** Milliseconds that the call may take with all that is sent again; of a stream, that it may stand still. */
  timeoutMs?: number | undefined;
  /** How often the request is sent again, at most, where that is safe. */
  retries?: number | undefined;
}

export type BodyKind = "none" | "json" | "binary";
export type AnswerKind = "none" | "json" | "text" | "stream";
export type Method = "GET" | "PUT" | "POST" | "PATCH" | "DELETE";

/** Method, path, body, answer, and the members that its answer always has. */
export type OperationRow = readonly [Method, string, BodyKind, AnswerKind, ...string[]];

/** What an operation is called with. */
export interface OperationInput extends CallOptions {
  path?: Record<string, unknown> | undefined;
  query?: Record<string, unknown> | undefined;
  headers?: Record<string, string | undefined> | undefined;
  body?: unknown;
  /** The media type of a body of bytes. */
  contentType?: string | undefined;
}
