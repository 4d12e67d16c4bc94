export { BinaryAnswer, type BinaryBody } from "./binary.js";
export {
  MemoryClient,
  type AgentOptions,
  type AskOptions,
  type AssembleOptions,
  type ExportOptions,
  type IngestOptions,
  type MemoryClientOptions,
  type RecallOptions,
  type RememberOptions,
  type StoreOptions,
} from "./client.js";
export { MemoryGatewayError, type FieldError } from "./errors.js";
export { VERSION, type Operations } from "./generated/operations.js";
export type * from "./generated/types.js";
export type { CallOptions } from "./operation.js";
export type { ImportLine, ImportOptions, ImportReport, ImportSummary } from "./transfer.js";
