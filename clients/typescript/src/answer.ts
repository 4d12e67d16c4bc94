import { MemoryGatewayError, type FieldError } from "./errors.js";
import type { CloudflareError } from "./generated/types.js";

type Members = { readonly [name: string]: unknown };

const OF_A_PROXY: Readonly<Record<number, string>> = {
  429: "rate_limited",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

/** The error codes that Node's and Bun's connections have where no connection was made, so that nothing was sent. */
const UNREACHABLE = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "ConnectionRefused",
  "FailedToOpenSocket",
]);

/** Reads an answer of a status from 400, and returns what it means. */
export async function refusal(name: string, response: Response): Promise<MemoryGatewayError> {
  const { status, headers } = response;
  const retryAfter = seconds(headers.get("Retry-After"));
  const said = parsed(await response.text());
  if (typeof said?.code === "string" && typeof said.detail === "string") {
    return new MemoryGatewayError(said.detail, {
      code: said.code,
      status,
      fields: Array.isArray(said.errors) ? (said.errors as FieldError[]) : [],
      advice: textOf(said.advice),
      requestId: textOf(said.request_id),
      traceId: textOf(said.trace_id) || undefined,
      retryAfter,
    });
  }
  const [first] = said?.success === false && Array.isArray(said.errors) ? (said.errors as CloudflareError[]) : [];
  if (first) {
    const facts = { code: `cloudflare_${first.code}`, status, requestId: headers.get("X-Request-Id") ?? "", retryAfter };
    return new MemoryGatewayError(first.message, facts);
  }
  const code = OF_A_PROXY[status];
  if (code === undefined) return notUnderstood(name, response, "it is no problem of the service");
  return new MemoryGatewayError(`${name}: ${described(response)}.`, { code, status, retryAfter });
}

/** Returns the error of an answer that is not the service's, or not one that this client can read. */
export function notUnderstood(name: string, response: Response, why: string): MemoryGatewayError {
  return new MemoryGatewayError(`${name}: ${described(response)} cannot be understood: ${why}.`, {
    code: "answer_not_understood",
    status: response.status >= 400 ? response.status : 502,
    requestId: response.headers.get("X-Request-Id") ?? "",
  });
}

/** Returns what it means that no answer came, or that it broke off. */
export function failure(name: string, url: string, thrown: unknown): MemoryGatewayError {
  if (unreachable(thrown)) {
    const where = new URL("/", url).href;
    return new MemoryGatewayError(
      `${name}: No connection could be made. The service is looked for at ${where}, as MEMORY_GATEWAY_URL or url says.`,
      { code: "service_unreachable", status: 503, cause: thrown },
    );
  }
  return new MemoryGatewayError(`${name}: The connection broke, or none could be made.`, {
    code: "answer_lost",
    status: 502,
    cause: thrown,
  });
}

export function timeout(name: string, milliseconds: number): MemoryGatewayError {
  return new MemoryGatewayError(`${name}: No answer came within ${milliseconds} ms.`, {
    code: "answer_timeout",
    status: 504,
  });
}

function unreachable(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { code } = error as { code?: unknown };
    if (typeof code === "string" && UNREACHABLE.has(code)) return true;
    if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(unreachable);
  }
  return false;
}

function parsed(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Members) : undefined;
  } catch {
    return undefined; // a proxy's page, for example
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function seconds(header: string | null): number | undefined {
  return header !== null && /^[0-9]{1,9}$/.test(header) ? Number(header) : undefined;
}

function described(response: Response): string {
  return `the answer ${response.status} of the type '${response.headers.get("Content-Type") ?? "none"}'`;
}
