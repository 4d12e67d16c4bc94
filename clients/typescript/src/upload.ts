import type { Deadline } from "./deadline.js";
import type { PreparedRequest } from "./request.js";

type Source = NonNullable<PreparedRequest["source"]>;

/**
 * Returns what makes `fetch` send what comes of a source, no faster than it is taken.
 *
 * Browsers send no stream over HTTP/1.1: there it is put together first, in a Blob.
 */
export async function upload(source: Source, deadline: Deadline): Promise<RequestInit> {
  if (!("document" in globalThis || "importScripts" in globalThis)) {
    const body = new ReadableStream<Uint8Array>(new Pulled(source, deadline), { highWaterMark: 0 });
    return { body, duplex: "half" } as RequestInit;
  }
  const parts: BlobPart[] = [];
  deadline.pause();
  for (let next = await source.next(); !next.done; next = await source.next()) parts.push(next.value as BlobPart);
  deadline.restart();
  return { body: new Blob(parts) };
}

/** A source of a stream that counts the time in which the other side takes nothing. */
class Pulled implements UnderlyingDefaultSource<Uint8Array> {
  readonly #encoder = new TextEncoder();

  constructor(
    private readonly source: Source,
    private readonly deadline: Deadline,
  ) {}

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.deadline.pause();
    const { done, value } = await this.next();
    this.deadline.restart();
    if (done) controller.close();
    else controller.enqueue(typeof value === "string" ? this.#encoder.encode(value) : value);
  }

  async cancel(): Promise<void> {
    await this.source.return?.();
  }

  /** Returns what comes next; what the source throws ends the call, and is what the call rejects with. */
  private async next(): Promise<IteratorResult<Uint8Array | string>> {
    try {
      return await this.source.next();
    } catch (error) {
      this.deadline.abort(error);
      throw error;
    }
  }
}
