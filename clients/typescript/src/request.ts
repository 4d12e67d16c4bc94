import type { BinaryBody } from "./binary.js";
import type { OperationInput, OperationRow } from "./operation.js";

/** A request of an operation that is not yet sent. */
export interface PreparedRequest {
  /** Method and path, to be named in an error. */
  name: string;
  method: string;
  url: string;
  headers: Headers;
  body: BodyInit | undefined;
  /** Whether the body can be read once only, so that it cannot be sent again. */
  once: boolean;
}

/** Makes the request of an operation; throws a `TypeError` where it cannot be one. */
export function prepare(base: string, row: OperationRow, input: OperationInput): PreparedRequest {
  const [method, template, kind] = row;
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, input.path?.[name]));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined && value !== null) query.set(name, written(value));
  }
  const asked = query.size > 0 ? `?${query}` : "";
  const headers = new Headers({ Accept: "application/json, */*;q=0.5" });
  for (const [name, value] of Object.entries(input.headers ?? {})) if (value !== undefined) headers.set(name, value);
  const sent = kind === "none" || input.body === undefined ? undefined : bodyOf(kind, input.body, headers);
  return { name: `${method} ${path}`, method, url: `${base}${path}${asked}`, headers, ...(sent ?? NOTHING) };
}

const NOTHING = { body: undefined, once: false };

function bodyOf(kind: "json" | "binary", body: unknown, headers: Headers): Pick<PreparedRequest, "body" | "once"> {
  if (kind === "json") {
    headers.set("Content-Type", "application/json");
    return { body: JSON.stringify(body), once: false };
  }
  if (!headers.has("Content-Type")) headers.set("Content-Type", "application/octet-stream");
  return binary(body as BinaryBody);
}

function binary(body: BinaryBody): Pick<PreparedRequest, "body" | "once"> {
  const whole =
    typeof body === "string" || body instanceof Blob || body instanceof ArrayBuffer || body instanceof Uint8Array;
  if (whole) return { body, once: false };
  return { body: body instanceof ReadableStream ? body : streamed(body), once: true };
}

/** Gives what is iterated over as a stream that reads no faster than it is read. */
function streamed(source: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const pieces = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
      },
      async cancel(reason) {
        await pieces.return?.(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

function written(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Returns a value as one segment of a path; dots are written so that none is taken for a step up. */
function segment(name: string, value: unknown): string {
  const text = value === undefined || value === null ? "" : String(value);
  if (text === "") throw new TypeError(`${name} must not be empty.`);
  return encodeURIComponent(text).replaceAll(".", "%2E");
}
