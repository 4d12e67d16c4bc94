// Memory for LangGraph.js: the memory of an agent as a graph's store.

import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";

import type { MemoryClient } from "../client.js";
import type { MemoryAnswer } from "../generated/types.js";
import { passes } from "../langgraph/conditions.js";
import * as items from "../langgraph/items.js";
import { ulid } from "../ulid.js";

const PAGE = 100;
const MOST_FOUND = 20;

/**
 * A store over the memory of the client's agent. Its values are also those of the Python client's store.
 *
 * A put adds a value and keeps the older ones; a get gives the newest. Reading by key needs a credential for this agent
 * alone or an administrator's, deleting an administrator's. What goes wrong is thrown as the client throws it.
 */
export class MemoryStore extends BaseStore {
  readonly #client: MemoryClient;
  readonly #agent: string;

  constructor(client: MemoryClient) {
    super();
    if (client.agent === undefined) {
      throw new TypeError("The client has no agent: give it one (agent or MEMORY_GATEWAY_AGENT).");
    }
    this.#client = client;
    this.#agent = client.agent;
  }

  /** Carries out the operations: first what reads, then of each key the last put. All are checked before. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    for (const operation of operations) items.check(operation);
    const results: unknown[] = [];
    for (const operation of operations) results.push(await this.#read(operation));
    const puts = operations.filter(isPut);
    const last = new Map(puts.map((put) => [JSON.stringify([put.namespace, put.key]), put]));
    for (const put of last.values()) await this.#write(put);
    return results as OperationResults<Op>;
  }

  async #read(operation: Operation): Promise<Item | null | SearchItem[] | string[][] | undefined> {
    if ("namespacePrefix" in operation) return this.#search(operation);
    if ("value" in operation) return undefined;
    if ("key" in operation) return this.#get(operation);
    return this.#namespaces(operation);
  }

  async #get({ namespace, key }: GetOperation): Promise<Item | null> {
    const newest = await this.#newest(namespace, key);
    return newest ? items.itemOf(newest) : null;
  }

  async #write({ namespace, key, value }: PutOperation): Promise<void> {
    const where = items.at(namespace, key);
    if (value !== null) {
      // With a session of its own the same value again, or under another key, is a memory of its own.
      const metadata = { ...items.within(namespace), ...where };
      await this.#client.store(JSON.stringify(value), { metadata, session_id: ulid() });
      // The service tells the time in milliseconds: what is put after this is to be newer.
      await new Promise((resolve) => setTimeout(resolve, 2));
      return;
    }
    const all: MemoryAnswer[] = [];
    for await (const memory of this.#listed(where)) all.push(memory);
    // The oldest first: as long as there is any value, it is the newest.
    for (const { id } of all.reverse()) {
      await this.#client.operations.delete_memory({ path: { memory_id: id }, query: { agent_id: this.#agent } });
    }
  }

  async #search({ namespacePrefix, query, filter = {}, limit = 10, offset = 0 }: SearchOperation): Promise<SearchItem[]> {
    const found: SearchItem[] = [];
    const current = query ? this.#ranked(namespacePrefix, query) : this.#current(namespacePrefix);
    if (limit > 0) {
      for await (const item of current) {
        if (passes(item.value, filter) && found.push(item) === offset + limit) break;
      }
    }
    return found.slice(offset);
  }

  /** Gives what a recall finds, best first, and then what else there is, newest first and without a score. */
  async *#ranked(prefix: string[], query: string): AsyncGenerator<SearchItem> {
    const filter = { metadata: items.within(prefix) };
    const { entries, degraded } = await this.#client.recall(query, { top_k: MOST_FOUND, filter });
    const given = new Set<string>();
    for (const entry of entries.filter(items.isValue)) {
      const item = items.itemOf(entry);
      const newest = await this.#newest(item.namespace, item.key);
      if (newest?.id !== entry.id) continue; // a newer value has superseded it
      given.add(items.placeOf(item));
      yield { ...item, score: entry.score };
    }
    if (entries.length < MOST_FOUND && !degraded?.length) return; // these were all
    for await (const item of this.#current(prefix)) if (!given.has(items.placeOf(item))) yield item;
  }

  async #namespaces({ matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation): Promise<string[][]> {
    const held = new Map<string, string[]>();
    for await (const memory of this.#listed(items.within([]))) {
      const { namespace } = items.itemOf(memory);
      if (!matchConditions.every((condition) => matches(namespace, condition))) continue;
      const shown = namespace.slice(0, maxDepth);
      held.set(shown.join("."), shown);
    }
    const sorted = [...held.keys()].sort().slice(offset, offset + limit);
    return sorted.flatMap((key) => [held.get(key) ?? []]);
  }

  async #newest(namespace: string[], key: string): Promise<MemoryAnswer | undefined> {
    for await (const memory of this.#listed(items.at(namespace, key), 1)) return memory;
    return undefined;
  }

  /** Gives the newest value of each key under the prefix, newest first. */
  async *#current(prefix: string[]): AsyncGenerator<Item> {
    const seen = new Set<string>();
    for await (const memory of this.#listed(items.within(prefix))) {
      const item = items.itemOf(memory);
      if (seen.has(items.placeOf(item))) continue;
      seen.add(items.placeOf(item));
      yield item;
    }
  }

  async *#listed(metadata: Record<string, string>, limit = PAGE): AsyncGenerator<MemoryAnswer> {
    let cursor: string | undefined;
    do {
      const query = { agent_id: this.#agent, metadata, limit, cursor };
      const page = await this.#client.operations.list_memories({ query });
      yield* page.memories.filter(items.isValue);
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
  }
}

function isPut(operation: Operation): operation is PutOperation {
  return "value" in operation;
}

function matches(namespace: string[], { matchType, path }: MatchCondition): boolean {
  const start = matchType === "suffix" ? namespace.length - path.length : 0;
  return start >= 0 && path.every((label, at) => label === "*" || label === namespace[start + at]);
}

