/**
 * Sends the request of an operation, again where that is safe and may help, and reads the answer.
 *
 * A call is sent again only where that does no harm (`repeatable`), or where no connection was made and so nothing was
 * sent. And only where it may help: when there is no answer, when the service says by `Retry-After` when to come again,
 * and when something on the way to it has failed. What is sent while it comes is sent once.
 */

import { failure, notUnderstood, refusal, timeout } from "./answer.js";
import { BinaryAnswer } from "./binary.js";
import { Deadline } from "./deadline.js";
import { MemoryGatewayError } from "./errors.js";
import type { OperationRow } from "./operation.js";
import type { PreparedRequest } from "./request.js";
import { upload } from "./upload.js";

const FIRST_PAUSE_MS = 200;

/** The codes of outages that waiting does not end: the service sends them without `Retry-After`. */
const LASTING = new Set([
  "cursor_expired",
  "database_lost",
  "model_answer_rejected",
  "quota_exhausted",
  "schema_too_old",
  "upstream_credentials_refused",
  "upstream_rejected",
  "vector_refused",
]);

/** A call: what is sent, and what is known of its operation. */
export interface Call {
  request: PreparedRequest;
  row: OperationRow;
  /** Whether it may be sent again when nobody knows what became of it. */
  repeatable: boolean;
  /** Whether an answer of this status is what was asked for, though it tells of a failure. */
  tellsAll: (status: number) => boolean;
}

/** How calls are sent: what sends them, and for how long and how often. */
export interface Sending {
  timeoutMs: number;
  retries: number;
  fetch: typeof globalThis.fetch;
  signal: AbortSignal | undefined;
}

/** Carries out a call and returns its answer; rejects with a `MemoryGatewayError`, or with the reason of the signal. */
export async function exchange(call: Call, sending: Sending): Promise<unknown> {
  const { retries, timeoutMs, signal } = sending;
  const end = Date.now() + timeoutMs;
  for (let tried = 0; ; tried += 1) {
    const last = tried >= retries || call.request.source !== undefined;
    const left = Math.max(end - Date.now(), 1);
    try {
      // While it may be sent again it waits for half of what is left, so that a lost answer can be asked for once more.
      return await attempt(call, last || !call.repeatable ? left : left / 2, sending);
    } catch (error) {
      if (!(error instanceof MemoryGatewayError)) throw error;
      const pause = pauseAfter(error, tried);
      const again = call.repeatable || error.code === "service_unreachable";
      if (last || pause === undefined || !again || Date.now() + pause >= end) throw error;
      await wait(pause, signal);
    }
  }
}

/** Returns the milliseconds after which the same may succeed; undefined where that is not to be expected. */
function pauseAfter(error: MemoryGatewayError, tried: number): number | undefined {
  if (!error.unavailable) return undefined;
  if (error.retryAfter !== undefined) return error.retryAfter * 1000;
  if (error.status === 429 || LASTING.has(error.code)) return undefined;
  // By chance, so that clients that failed together do not come again together.
  return FIRST_PAUSE_MS * 2 ** tried * (0.5 + Math.random() / 2);
}

function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      resolve();
    }, milliseconds);
    if (signal?.aborted) ended();
    else signal?.addEventListener("abort", ended, { once: true });
  });
}

async function attempt(call: Call, milliseconds: number, sending: Sending): Promise<unknown> {
  const { request, row, tellsAll } = call;
  sending.signal?.throwIfAborted();
  const deadline = new Deadline(milliseconds, sending.signal);
  let streamed = false;
  try {
    const response = await sending.fetch(request.url, {
      method: request.method,
      headers: request.headers,
      signal: deadline.signal,
      redirect: "manual", // the credential goes to no other address
      ...(request.source ? await upload(request.source, deadline) : request.body !== undefined && { body: request.body }),
    });
    if (response.status >= 400 && !tellsAll(response.status)) throw await refusal(request.name, response);
    if (response.status < 200 || (response.status >= 300 && response.status < 400)) {
      throw notUnderstood(request.name, response, "it is that of another address");
    }
    if (row[3] !== "stream") return await read(request.name, row, response);
    streamed = true;
    deadline.restart(sending.timeoutMs);
    return new BinaryAnswer(response.headers.get("Content-Type") ?? "", pieces(request, response, deadline));
  } catch (error) {
    const meant = meaning(request, deadline, error);
    if (request.source) deadline.abort(meant); // a refusal may come while much is still to be sent
    throw meant;
  } finally {
    if (!streamed) deadline.end();
  }
}

async function read(name: string, row: OperationRow, response: Response): Promise<unknown> {
  const [, , , kind, ...required] = row;
  const text = await response.text();
  if (kind === "none") return undefined;
  if (kind === "text") return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notUnderstood(name, response, "it is not JSON");
  }
  const missing = required.filter((member) => typeof value !== "object" || value === null || !(member in value));
  if (missing.length > 0) throw notUnderstood(name, response, `it has no ${missing.join(", ")}`);
  return value;
}

async function* pieces(
  request: PreparedRequest,
  response: Response,
  deadline: Deadline,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = response.body?.getReader();
  let whole = false;
  try {
    for (;;) {
      deadline.restart();
      const piece = await reader?.read();
      deadline.pause();
      if (piece === undefined || piece.done) break;
      yield piece.value;
    }
    whole = true;
  } catch (error) {
    throw meaning(request, deadline, error);
  } finally {
    deadline.end();
    // Where the reader has failed itself, there is nothing left to cancel.
    if (!whole) await reader?.cancel().catch(() => undefined);
  }
}

/** Returns what was thrown as what it means to the caller. */
function meaning(request: PreparedRequest, deadline: Deadline, thrown: unknown): unknown {
  if (thrown instanceof MemoryGatewayError) return thrown;
  if (deadline.passed) return timeout(request.name, Math.round(deadline.milliseconds));
  if (deadline.signal.aborted) return deadline.signal.reason;
  return failure(request.name, request.url, thrown);
}
