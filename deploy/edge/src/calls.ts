// One data point of Analytics Engine for each call: what the queries of deploy/edge/analytics read. A call is answered
// whether or not it is counted.

/** What blobs and doubles are, in their order: blob1 is the method, double1 the milliseconds. The index is the tenant. */
export const BLOBS = ["method", "route", "tool", "outcome", "status"] as const;
export const DOUBLES = ["ms", "embedding_tokens", "embedded_characters", "model_tokens"] as const;

/** What is known of a call. Its route is a template, such as `/memories/{memory_id}`; its outcome is an error's code. */
export type Call = { tenant?: string } & { [name in (typeof BLOBS)[number]]?: string } & {
  [name in (typeof DOUBLES)[number]]?: number;
};

export interface Env {
  CALLS?: AnalyticsEngineDataset; // without it nothing is counted
}

const REPORT = "x-memory-gateway-call"; // in which the service tells what a call was
const REQUEST_ID = "x-request-id"; // each answer of the service has one, what refuses early alike
const INDEX_BYTES = 96; // https://developers.cloudflare.com/analytics/analytics-engine/limits/
const BLOB_BYTES = 512; // all of them may have 16 KB

/** Answers a call and counts it; `told` is what the Worker itself knows of it by then. What `answer` throws is thrown. */
export async function counted(
  request: Request, { CALLS }: Env, answer: () => Promise<Response>, told: Call = {},
): Promise<Response> {
  const began = Date.now();
  const count = (status: number, outcome: string, report: Call = { method: request.method, ...told }) => {
    if (CALLS !== undefined) write(CALLS, { outcome, ...report, status: String(status), ms: Date.now() - began });
  };
  const answered = await answer().catch((error: unknown) => {
    count(500, "unreachable");
    throw error;
  });
  const { status, headers } = answered;
  const report = headers.get(REPORT);
  const refusal = headers.has(REQUEST_ID) ? `http_${status}` : "unreachable"; // what stands in for a Container has no id
  count(status, status < 400 ? "ok" : refusal, report === null ? undefined : read(report));
  if (report === null) return answered;
  const passed = new Response(answered.body, answered);
  passed.headers.delete(REPORT); // it is for this Worker alone
  return passed;
}

function write(calls: AnalyticsEngineDataset, call: Call): void {
  const text = (value: unknown, most = BLOB_BYTES) =>
    typeof value === "string" && value.length <= most && /^[ -~]*$/.test(value) ? value : "";
  const number = (value: unknown) => (Number.isFinite(value) ? (value as number) : 0);
  try {
    const [blobs, doubles] = [BLOBS.map((name) => text(call[name])), DOUBLES.map((name) => number(call[name]))];
    calls.writeDataPoint({ indexes: [text(call.tenant, INDEX_BYTES)], blobs, doubles }); // it waits for nothing
  } catch (error) {
    console.error("call_not_counted", String(error));
  }
}

/** Reads what the service tells; what of it is no text or no number is left out when it is written. */
function read(report: string): Call {
  try {
    return { ...(JSON.parse(report) as Call) };
  } catch {
    return { outcome: "report_unreadable" };
  }
}
