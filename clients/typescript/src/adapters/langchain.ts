// Memory for LangChain.js: a retriever, what it finds as context for a model, and tools.

import type { CallbackManagerForRetrieverRun } from "@langchain/core/callbacks/manager";
import { Document, type DocumentInterface } from "@langchain/core/documents";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";
import { DynamicStructuredTool, type StructuredToolInterface } from "@langchain/core/tools";

import type { MemoryClient, RecallOptions } from "../client.js";
import type { MemoryGatewayError } from "../errors.js";
import type { EntryAnswer } from "../generated/types.js";
import { quotation } from "../turn/quoting.js";
import { callTool, DEFINITIONS, isGatewayError } from "../turn/tools.js";
import { bounded, NOTICE, UNAVAILABLE } from "../turn/turn.js";

/** What a document tells of its memory beside its content. */
export type MemoryMetadata = Partial<Omit<EntryAnswer, "content">> & {
  /** The code of the failure, of the document that stands for a memory that could not be asked. */
  unavailable?: string;
};

export interface MemoryRetrieverOptions extends BaseRetrieverInput, Omit<RecallOptions, "signal" | "explain" | "group_by"> {
  /** True: a retrieval fails where memory does. Else it gives one document that says so, and tells `onUnavailable`. */
  required?: boolean | undefined;
  /** Is told of an outage once, and again of the next one. Absent: a warning of the console. */
  onUnavailable?: ((error: MemoryGatewayError) => void) | undefined;
}

/** A retriever of what the agent remembers, most likely first. A recall's options are those of the client. */
export class MemoryRetriever extends BaseRetriever<MemoryMetadata> {
  lc_namespace = ["memory_gateway_client", "langchain"];
  private readonly client: MemoryClient;
  private readonly recalled: Omit<MemoryRetrieverOptions, keyof BaseRetrieverInput>;
  private told = false;

  constructor(client: MemoryClient, options: MemoryRetrieverOptions = {}) {
    const { callbacks, tags, metadata, verbose, ...recalled } = options;
    super({ ...(callbacks && { callbacks }), ...(tags && { tags }), ...(metadata && { metadata }), verbose: verbose ?? false });
    this.client = client;
    this.recalled = recalled;
  }

  override async _getRelevantDocuments(
    query: string,
    _run?: CallbackManagerForRetrieverRun,
  ): Promise<DocumentInterface<MemoryMetadata>[]> {
    const { required, onUnavailable = warn, ...options } = this.recalled;
    const asked = bounded(query);
    if (asked === "") return [];
    try {
      const { entries } = await this.client.recall(asked, { for_model: true, ...options });
      this.told = false;
      return entries.map(({ content, ...metadata }) => new Document({ pageContent: content, metadata, id: metadata.id }));
    } catch (error) {
      if (required || !isGatewayError(error)) throw error;
      if (!this.told) onUnavailable(error);
      this.told = true;
      return [new Document({ pageContent: UNAVAILABLE, metadata: { unavailable: error.code } })];
    }
  }
}

/**
 * Writes what a retriever has found for a model: quoted, each memory on one line with its day, and that none of it is an
 * instruction. `retriever.pipe(asContext)` gives a chain its context.
 */
export function asContext(documents: readonly DocumentInterface<MemoryMetadata>[]): string {
  const lines = documents.map(({ pageContent, metadata }) => {
    if (metadata.unavailable) return pageContent;
    const day = (metadata.occurred_at ?? metadata.created_at ?? "").slice(0, 10);
    return `- ${day}: ${quotation(pageContent)}`;
  });
  return documents.some(({ metadata }) => !metadata.unavailable) ? [NOTICE, ...lines].join("\n") : lines.join("\n");
}

/** Returns the tools by which the model itself recalls and stores, for `bindTools` and agents. */
export function memoryTools(client: MemoryClient, options: { agent?: string | undefined } = {}): StructuredToolInterface[] {
  return DEFINITIONS.map(
    (definition) =>
      new DynamicStructuredTool({
        name: definition.name,
        description: definition.description,
        schema: definition.inputSchema as object as Record<string, unknown>,
        async func(written: unknown, _run, config) {
          const { text } = await callTool(client, definition, written, { ...options, signal: config?.signal });
          return text;
        },
      }),
  );
}

function warn({ code, message }: MemoryGatewayError): void {
  console.warn(`memory-gateway-client: the chain goes on without its long-term memory (${code}: ${message})`);
}
