/** Bytes that are sent as a whole. */
export type WholeBody = Uint8Array<ArrayBuffer> | ArrayBuffer | Blob | string;
/** Bytes that are sent while they come, and of which nothing is held. */
export type StreamedBody = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>;
export type BinaryBody = WholeBody | StreamedBody;

/** Bytes that are answered, read while they come: once, as a stream, as lines or as a whole. */
export class BinaryAnswer implements AsyncIterable<Uint8Array> {
  /** Their media type. */
  readonly type: string;
  #chunks: AsyncGenerator<Uint8Array, void, undefined> | undefined;

  constructor(type: string, chunks: AsyncGenerator<Uint8Array, void, undefined>) {
    this.type = type;
    this.#chunks = chunks;
  }

  /** Gives the pieces as they come. */
  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    const chunks = this.#chunks;
    if (chunks === undefined) throw new TypeError("An answer can be read once only.");
    this.#chunks = undefined;
    return chunks;
  }

  /** Gives the pieces as a stream of the platform. */
  stream(): ReadableStream<Uint8Array> {
    const chunks = this[Symbol.asyncIterator]();
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return();
      },
    });
  }

  /** Gives the lines of a text, without their ends. */
  async *lines(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of this) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    rest += decoder.decode();
    if (rest) yield rest;
  }

  /** Returns all of them. */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this) chunks.push(chunk);
    const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
    let at = 0;
    for (const chunk of chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    return whole;
  }

  /** Returns all of them as a text in UTF-8. */
  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }
}
