/**
 * Sends the request of an operation, again where that is safe and may help, and reads the answer.
 *
 * A call is sent again only where that does no harm (`repeatable`), or where no connection was made and so nothing was
 * sent. And only where it may help: when there is no answer, when the service says by `Retry-After` when to come again,
 * and when something on the way to it has failed.
 */

import { failure, notUnderstood, refusal, timeout } from "./answer.js";
import { BinaryAnswer } from "./binary.js";
import { Deadline } from "./deadline.js";
import { MemoryGatewayError } from "./errors.js";
import type { OperationRow } from "./operation.js";
import type { PreparedRequest } from "./request.js";

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

/** How calls are sent: what sends them, and for how long and how often. */
export interface Sending {
  timeoutMs: number;
  retries: number;
  fetch: typeof globalThis.fetch;
  signal: AbortSignal | undefined;
}

/** Carries out a call and returns its answer; rejects with a `MemoryGatewayError`, or with the reason of the signal. */
export async function exchange(
  request: PreparedRequest,
  row: OperationRow,
  repeatable: boolean,
  sending: Sending,
): Promise<unknown> {
  const { retries, timeoutMs, signal } = sending;
  const end = Date.now() + timeoutMs;
  for (let tried = 0; ; tried += 1) {
    const last = tried >= retries || request.once;
    const left = Math.max(end - Date.now(), 1);
    try {
      return await attempt(request, row, last || !repeatable ? left : left / 2, sending);
    } catch (error) {
      if (!(error instanceof MemoryGatewayError)) throw error;
      const pause = pauseAfter(error, tried);
      const again = repeatable || error.code === "service_unreachable";
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

async function attempt(request: PreparedRequest, row: OperationRow, ms: number, sending: Sending): Promise<unknown> {
  sending.signal?.throwIfAborted();
  const deadline = new Deadline(ms, sending.signal);
  const streams = row[3] === "stream";
  let handedOver = false;
  try {
    const response = await sent(request, sending.fetch, deadline);
    if (response.status >= 400) throw await refusal(request.name, response, await response.text());
    if (!response.ok) throw notUnderstood(request.name, response, "it is another address");
    if (!streams) return await read(request.name, row, response);
    handedOver = true;
    return new BinaryAnswer(response.headers.get("Content-Type") ?? "", pieces(request, response, deadline, ms));
  } catch (error) {
    throw meaning(request, deadline, ms, error);
  } finally {
    if (!handedOver) deadline.end();
  }
}

function sent(request: PreparedRequest, fetch: typeof globalThis.fetch, deadline: Deadline): Promise<Response> {
  const { method, headers, body } = request;
  const init: RequestInit & { duplex?: "half" } = { method, headers, signal: deadline.signal, redirect: "manual" };
  if (body instanceof ReadableStream) {
    const watched = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        deadline.restart();
        controller.enqueue(chunk);
      },
    });
    init.body = body.pipeThrough(watched);
    init.duplex = "half";
  } else if (body !== undefined) {
    init.body = body;
  }
  return fetch(request.url, init);
}

async function read(call: string, row: OperationRow, response: Response): Promise<unknown> {
  const [, , , kind, ...required] = row;
  const text = await response.text();
  if (kind === "none") return undefined;
  if (kind === "text") return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notUnderstood(call, response, "it is not JSON");
  }
  const missing = required.filter((name) => typeof value !== "object" || value === null || !(name in value));
  if (missing.length > 0) throw notUnderstood(call, response, `it has no ${missing.join(", ")}`);
  return value;
}

async function* pieces(
  request: PreparedRequest,
  response: Response,
  deadline: Deadline,
  ms: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = response.body?.getReader();
  try {
    for (;;) {
      deadline.restart();
      const piece = await reader?.read();
      if (piece === undefined || piece.done) return;
      yield piece.value;
    }
  } catch (error) {
    throw meaning(request, deadline, ms, error);
  } finally {
    deadline.end();
    await reader?.cancel();
  }
}

/** Returns what was thrown as what it means to the caller. */
function meaning(request: PreparedRequest, deadline: Deadline, ms: number, thrown: unknown): unknown {
  if (thrown instanceof MemoryGatewayError) return thrown;
  if (deadline.passed) return timeout(request.name, Math.round(ms));
  if (deadline.signal.aborted) return deadline.signal.reason;
  return failure(request.name, request.url, thrown);
}
