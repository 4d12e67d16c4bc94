import type { Deadline } from "./deadline.js";
import type { PreparedRequest } from "./request.js";

type Source = NonNullable<PreparedRequest["source"]>;

/**
 * Returns what makes `fetch` send what comes of a source, no faster than it is taken.
 *
 * Browsers send no stream over HTTP/1.1: there it is put together first, in a Blob.
 */
export async function upload(source: Source, deadline: Deadline): Promise<RequestInit> {
  if ("document" in globalThis || "importScripts" in globalThis) return { body: await together(source, deadline) };
  const body = new ReadableStream<Uint8Array>(new Pulled(source, deadline), { highWaterMark: 0 });
  // Node keeps a copy of all that was sent, to send it to another address, unless it may not.
  const { userAgent = "" } = globalThis.navigator ?? {};
  const redirect = userAgent === "Cloudflare-Workers" ? "manual" : "error"; // which Workers do not have
  return { body, duplex: "half", redirect, window: null } as RequestInit;
}

async function together(source: Source, deadline: Deadline): Promise<Blob> {
  const parts: BlobPart[] = [];
  deadline.pause();
  for (let next = await source.next(); !next.done; next = await source.next()) {
    deadline.signal.throwIfAborted();
    parts.push(next.value as BlobPart);
  }
  deadline.restart();
  return new Blob(parts);
}

/** A source of a stream that counts the time in which the other side takes nothing. */
class Pulled implements UnderlyingDefaultSource<Uint8Array> {
  readonly #encoder = new TextEncoder();
  readonly #source: Source;
  readonly #deadline: Deadline;

  constructor(source: Source, deadline: Deadline) {
    this.#source = source;
    this.#deadline = deadline;
  }

  /** Ends the stream with the call: Node would read an aborted one to its end. */
  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { signal } = this.#deadline;
    const ended = () => {
      controller.error(signal.reason);
      void this.cancel();
    };
    if (signal.aborted) ended();
    else signal.addEventListener("abort", ended, { once: true });
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#deadline.pause();
    const next = await this.#next();
    if (this.#deadline.signal.aborted) return;
    this.#deadline.restart();
    if (next.done) controller.close();
    else controller.enqueue(typeof next.value === "string" ? this.#encoder.encode(next.value) : next.value);
  }

  async cancel(): Promise<void> {
    try {
      await this.#source.return?.();
    } catch {
      // The call has ended for a reason of its own.
    }
  }

  /** Returns what comes next; what the source throws ends the call, and is what the call rejects with. */
  async #next(): Promise<IteratorResult<Uint8Array | string>> {
    try {
      return await this.#source.next();
    } catch (error) {
      this.#deadline.abort(error);
      throw error;
    }
  }
}
