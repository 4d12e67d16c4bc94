import { MemoryGatewayError, type FieldError } from "./errors.js";

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

/** Returns what an answer of a status from 400 means. */
export async function refusal(call: string, response: Response, text: string): Promise<MemoryGatewayError> {
  const { status } = response;
  const retryAfter = seconds(response.headers.get("Retry-After"));
  const problem = parsed(text);
  if (typeof problem?.code === "string" && typeof problem.detail === "string") {
    return new MemoryGatewayError(problem.detail, {
      code: problem.code,
      status,
      fields: Array.isArray(problem.errors) ? (problem.errors as FieldError[]) : [],
      advice: textOf(problem.advice),
      requestId: textOf(problem.request_id),
      traceId: textOf(problem.trace_id) || undefined,
      retryAfter,
    });
  }
  const code = OF_A_PROXY[status];
  if (code === undefined) return notUnderstood(call, response, "it is no problem of the service");
  return new MemoryGatewayError(`${call}: ${described(response)}.`, { code, status, retryAfter });
}

/** Returns the error of an answer that is not the service's, or not one that this client can read. */
export function notUnderstood(call: string, response: Response, why: string): MemoryGatewayError {
  return new MemoryGatewayError(`${call}: ${described(response)} cannot be understood: ${why}.`, {
    code: "answer_not_understood",
    status: response.status >= 400 ? response.status : 502,
    requestId: response.headers.get("X-Request-Id") ?? "",
  });
}

/** Returns what it means that no answer came, or that it broke off. */
export function failure(call: string, url: string, thrown: unknown): MemoryGatewayError {
  if (unreachable(thrown)) {
    const where = new URL("/", url).href;
    return new MemoryGatewayError(
      `${call}: No connection could be made. The service is looked for at ${where}, as MEMORY_GATEWAY_URL or url says.`,
      { code: "service_unreachable", status: 503, cause: thrown },
    );
  }
  return new MemoryGatewayError(`${call}: The connection broke, or none could be made.`, {
    code: "answer_lost",
    status: 502,
    cause: thrown,
  });
}

export function timeout(call: string, milliseconds: number): MemoryGatewayError {
  return new MemoryGatewayError(`${call}: No answer came within ${milliseconds} ms.`, {
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

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
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
