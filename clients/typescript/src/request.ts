import type { BinaryBody, StreamedBody, WholeBody } from "./binary.js";
import type { OperationInput, OperationRow } from "./operation.js";

/** A request of an operation that is not yet sent. */
export interface PreparedRequest {
  /** Method and path, to be named in an error. */
  name: string;
  method: string;
  url: string;
  headers: Headers;
  /** What is sent as a whole, and may be sent again. */
  body: WholeBody | undefined;
  /** What is sent while it comes, once. */
  source: AsyncIterator<Uint8Array | string> | Iterator<Uint8Array | string> | undefined;
}

/** Makes the request of an operation; throws a `TypeError` where it cannot be one. */
export function prepare(base: string, row: OperationRow, input: OperationInput): PreparedRequest {
  const [method, template, kind] = row;
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, input.path?.[name]));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined && value !== null) query.set(name, written(value));
  }
  const asked = query.toString();
  const headers = new Headers();
  for (const [name, value] of Object.entries(input.headers ?? {})) if (value !== undefined) headers.set(name, value);
  const url = `${base}${path}${asked && `?${asked}`}`;
  const request = { name: `${method} ${path}`, method, url, headers, body: undefined, source: undefined };
  if (kind === "none" || input.body === undefined) return request;
  if (kind === "json") {
    headers.set("Content-Type", "application/json");
    return { ...request, body: JSON.stringify(input.body) };
  }
  const body = input.body as BinaryBody;
  const type = input.contentType ?? (body instanceof Blob && body.type);
  headers.set("Content-Type", type || "application/octet-stream");
  return isWhole(body) ? { ...request, body } : { ...request, source: pulled(body) };
}

function isWhole(body: BinaryBody): body is WholeBody {
  return typeof body === "string" || body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body);
}

function pulled(body: StreamedBody): NonNullable<PreparedRequest["source"]> {
  if (body instanceof ReadableStream) return read(body);
  if (Symbol.asyncIterator in body) return body[Symbol.asyncIterator]();
  return body[Symbol.iterator]();
}

/** Iterates over a stream, which not every platform's streams do. */
async function* read(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  let whole = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield value;
    }
    whole = true;
  } finally {
    if (!whole) await reader.cancel();
  }
}

function written(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Returns a value as one segment of a path. */
function segment(name: string, value: unknown): string {
  const text = value === undefined || value === null ? "" : String(value);
  if (text === "") throw new TypeError(`${name} must not be empty.`);
  // A URL would take it for a step up, however it is written.
  if (text === "." || text === "..") throw new TypeError(`${name} must not be '${text}': no URL can name it.`);
  return encodeURIComponent(text);
}
