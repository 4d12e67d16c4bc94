/** One field of a request and what is wrong with it; `field` is a dotted path such as `filter.metadata`. */
export interface FieldError {
  field: string;
  message: string;
}

/** What a `MemoryGatewayError` tells beside its message. */
export interface ErrorFacts {
  code: string;
  status: number;
  fields?: readonly FieldError[] | undefined;
  advice?: string | undefined;
  retryAfter?: number | undefined;
  requestId?: string | undefined;
  traceId?: string | undefined;
  cause?: unknown;
}

/**
 * A call that the service refused, or that was not answered.
 *
 * `code` says which failure it is and stays the same from version to version: that of the service, or, where the service
 * did not answer, `service_unreachable` (nothing was sent), `answer_lost`, `answer_timeout` or `answer_not_understood`.
 * The message is for people and holds no credential.
 */
export class MemoryGatewayError extends Error {
  override readonly name = "MemoryGatewayError";
  /** Which failure it is, for programs. */
  readonly code: string;
  /** The HTTP status; without an answer, the one that says the same. */
  readonly status: number;
  /** What went wrong, for people. */
  readonly detail: string;
  /** The fields of the request that are wrong. */
  readonly fields: readonly FieldError[];
  /** What can be done about it; empty where the service does not say. */
  readonly advice: string;
  /** The seconds after which the service asks to be called again; undefined where it does not say. */
  readonly retryAfter: number | undefined;
  /** Identifies the request in the service's log; empty where there was no answer. */
  readonly requestId: string;
  /** The trace of the request, where it has one. */
  readonly traceId: string | undefined;

  constructor(detail: string, facts: ErrorFacts) {
    super(detail, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.detail = detail;
    this.code = facts.code;
    this.status = facts.status;
    this.fields = facts.fields ?? [];
    this.advice = facts.advice ?? "";
    this.retryAfter = facts.retryAfter;
    this.requestId = facts.requestId ?? "";
    this.traceId = facts.traceId;
  }

  /** Whether the service, or something it depends on, does not answer now, so that the same may succeed later. */
  get unavailable(): boolean {
    return this.status === 429 || (this.status >= 502 && this.status <= 504 && this.code !== "answer_not_understood");
  }
}
