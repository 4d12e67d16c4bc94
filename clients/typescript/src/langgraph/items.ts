/** A value of the store as a memory: the value as JSON is the content, its namespace and key are metadata. */

import { InvalidNamespaceError, type Item, type Operation } from "@langchain/langgraph-checkpoint";

const CONTENT_BYTES = 32 * 1024;
const METADATA_BYTES = 10 * 1024;
const STORE = { store: "langgraph" };
const NAMESPACE = "store.namespace";
const KEY = "store.key";

/** A memory that may be a value. */
interface Held {
  content: string;
  metadata: Record<string, unknown>;
  created_at: string;
}

/** Returns the metadata that all values under the prefix have. */
export function within(prefix: readonly string[]): Record<string, string> {
  return { ...STORE, ...Object.fromEntries(prefix.map((label, level) => [`store.${level}`, label])) };
}

/** Returns the metadata that the values of one key have, and no others. */
export function at(namespace: readonly string[], key: string): Record<string, string> {
  return { ...STORE, [NAMESPACE]: namespace.join("."), [KEY]: key };
}

/** Whether this is a value of the store: by its tools the agent can store what merely looks like one. */
export function isValue({ content, metadata }: Held): boolean {
  const { [NAMESPACE]: namespace, [KEY]: key } = metadata;
  if (typeof namespace !== "string" || typeof key !== "string") return false;
  const labels = namespace.split(".");
  const own: Record<string, unknown> = { ...within(labels), ...at(labels, key) };
  const names = Object.keys(metadata);
  if (names.length !== Object.keys(own).length || names.some((name) => metadata[name] !== own[name])) return false;
  return valueOf(content) !== undefined;
}

/** Returns a memory as what a get gives; it is as old as its newest value. */
export function itemOf({ content, metadata, created_at }: Held): Item {
  const { [NAMESPACE]: namespace, [KEY]: key } = metadata as Record<string, string>;
  const moment = new Date(created_at);
  const value = valueOf(content) ?? {};
  return { value, key: key ?? "", namespace: (namespace ?? "").split("."), createdAt: moment, updatedAt: moment };
}

/** Returns where an item is, as a text that no other place has. */
export function placeOf({ namespace, key }: Pick<Item, "namespace" | "key">): string {
  return JSON.stringify([namespace, key]);
}

function valueOf(content: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined; // a memory of another kind
  }
}

/** Checks an operation before anything of its batch is done; throws where it cannot be carried out. */
export function check(operation: Operation): void {
  if ("namespacePrefix" in operation) return checkLabels(operation.namespacePrefix);
  if (!("namespace" in operation)) {
    for (const { path } of operation.matchConditions ?? []) checkLabels(path);
    return;
  }
  const { namespace, key } = operation;
  checkLabels(namespace);
  if (!("value" in operation)) return;
  if (namespace.length === 0) throw new InvalidNamespaceError("A namespace has at least one label.");
  if (Array.isArray(operation.index)) throw new TypeError("MemoryStore: index is not supported.");
  if (operation.value === null) return;
  const where = { ...within(namespace), ...at(namespace, key) };
  const sizes = [
    ["The value", JSON.stringify(operation.value), CONTENT_BYTES],
    ["The namespace with the key", JSON.stringify(where), METADATA_BYTES],
  ] as const;
  for (const [what, text, most] of sizes) {
    const size = new TextEncoder().encode(text).length;
    if (size > most) throw new RangeError(`${what} of '${key.slice(0, 80)}' has ${size} bytes, at most ${most} are kept.`);
  }
}

function checkLabels(labels: readonly unknown[]): void {
  for (const label of labels) {
    if (typeof label !== "string" || label === "" || label.includes(".") || label.includes("\0")) {
      throw new InvalidNamespaceError(`'${String(label)}' is no label of a namespace: a text without periods and NUL.`);
    }
  }
}
