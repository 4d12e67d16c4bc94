import { MemoryGatewayError } from "./errors.js";
import type { Operations } from "./generated/operations.js";
import type { CallOptions } from "./operation.js";

const PIECE_CHARACTERS = 65_536;

/** A line of an export (docs/format.md), as a text or, parsed, as an object. */
export type ImportLine = string | Record<string, unknown>;

/** What became of one line of an import. */
export interface ImportReport {
  line: number;
  id?: string | null;
  status: string;
  [more: string]: unknown;
}

/** What became of all lines. */
export interface ImportSummary {
  type: "summary";
  lines: number;
  imported: number;
  unchanged: number;
  duplicate: number;
  conflict: number;
  rejected: number;
  [more: string]: unknown;
}

export interface ImportOptions extends CallOptions {
  /** Is told what became of each line, while the answer comes. */
  onReport?: ((report: ImportReport) => void) | undefined;
}

/** Gives the lines of an export, and throws where its closing line is missing. */
export async function* wholeExport(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let last = "";
  for await (const line of lines) {
    yield line;
    last = line;
  }
  if (!last.startsWith('{"type":"end"')) throw broken("The export broke off: its closing line is missing.");
}

/** Sends lines while they come, and reads what became of them. */
export async function imported(
  operations: Operations,
  lines: Iterable<ImportLine> | AsyncIterable<ImportLine>,
  options: ImportOptions,
): Promise<ImportSummary> {
  const { onReport, ...call } = options;
  const answer = await operations.import({ ...call, body: pieces(lines), contentType: "application/x-ndjson" });
  for await (const line of answer.lines()) {
    const report = JSON.parse(line) as ImportReport | ImportSummary;
    if (report["type"] === "summary") return report as ImportSummary;
    onReport?.(report as ImportReport);
  }
  throw broken("The answer to the import broke off: its summary is missing.");
}

/** Gives lines together, in pieces that are worth sending. */
async function* pieces(lines: Iterable<ImportLine> | AsyncIterable<ImportLine>): AsyncGenerator<string, void, undefined> {
  let piece = "";
  for await (const line of lines) {
    piece += `${typeof line === "string" ? line : JSON.stringify(line)}\n`;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = "";
  }
  if (piece) yield piece;
}

function broken(detail: string): MemoryGatewayError {
  return new MemoryGatewayError(detail, { code: "answer_lost", status: 502 });
}
