// The v4 envelope, bodies with a bound, and the form in which hits are put into a statement.

/** A call that is not answered, in the terms of the REST API. */
export class Refusal extends Error {
  constructor(readonly status: number, readonly code: number, message: string) {
    super(message);
  }
}

export function success(result: unknown, bookmark?: string | null): Response {
  return enveloped({ success: true, errors: [], messages: [], result }, 200, bookmark ?? "");
}

export function failure({ status, code, message }: Refusal): Response {
  return enveloped({ success: false, errors: [{ code, message }], messages: [], result: null }, status);
}

function enveloped(body: object, status: number, bookmark = ""): Response {
  const date = new Date().toUTCString(); // who writes vectors has to know when that was, by Cloudflare's clock
  return Response.json(body, { status, headers: bookmark ? { date, "x-d1-bookmark": bookmark } : { date } });
}

/** Reads a body of at most so many bytes; of a longer one no more is kept, and up to 8 MiB more are read. */
export async function boundedText(request: Request, most: number): Promise<string> {
  if (parseInt(request.headers.get("content-length") ?? "") <= most && !request.bodyUsed) return await request.text();
  const kept: Uint8Array[] = []; // no length is told, or too great a one: HTTP lets no body be longer than it tells
  let bytes = 0;
  for await (const chunk of request.bodyUsed ? [] : (request.body ?? [])) {
    bytes += chunk.byteLength;
    if (bytes <= most) kept.push(chunk); else if (bytes > most + 8 * 1024 * 1024) break;
  }
  if (bytes > most) throw new Refusal(413, 7400, `The body is longer than ${most} bytes.`);
  return await new Blob(kept).text();
}

/** Returns a JSON object, of its text or as it is. */
export function object(given: unknown): Record<string, unknown> {
  try {
    const read: unknown = typeof given === "string" ? JSON.parse(given) : given;
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  } catch {} // not JSON: refused as what is no object
  throw new Refusal(400, 7400, "What is sent is no JSON object.");
}

/** Returns what an object has under a name itself, not what it inherits. */
export function own<T>(from: Record<string, T>, name: unknown): T | undefined {
  return typeof name === "string" && Object.hasOwn(from, name) ? from[name] : undefined;
}

/** Returns `[[id, points], ...]`: 1.0 for the best hit to 0.0 for the last, with a fraction, on which SQL relies. */
export function hitsAsJson(hits: { id: string; score: number }[]): string {
  const scores = hits.map(({ score }) => Math.max(-1, Math.min(1, score)));
  const [top = 0, low = 0] = [scores[0], scores.at(-1)];
  const points = scores.map((score) => (top > low ? (score - low) / (top - low) : 1));
  const real = (value: number) => (Number.isInteger(value) ? value.toFixed(1) : String(value));
  return `[${hits.map(({ id }, n) => `[${JSON.stringify(id)},${real(points[n] ?? 0)}]`).join(",")}]`;
}
