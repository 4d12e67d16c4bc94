// Paths below /memories as a model writes them.

/** The most bytes of a path in UTF-8, and the most names below /memories. */
export const MAX_BYTES = 512;
export const MAX_LEVELS = 8;

const ROOT = "/memories";
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\p{Cs}]/u;
const ESCAPING = /\\|%(2e|2f|5c)/i;

/** What a model asked for cannot be done; the message is for the model. */
export class NotDone extends Error {}

/** A place below /memories: the names on the way to it; /memories itself has none. */
export class Place {
  constructor(readonly names: readonly string[] = []) {}

  toString(): string {
    return [ROOT, ...this.names].join("/");
  }

  /** The directories on the way to it, outermost first, without /memories. */
  get above(): Place[] {
    return this.names.slice(0, -1).map((_, level) => new Place(this.names.slice(0, level + 1)));
  }

  /** Whether it is the other one, or below it. */
  isWithin(other: Place): boolean {
    return other.names.every((name, level) => this.names[level] === name);
  }

  /** Returns where it is once the directory `from`, which it is in, is `to`; throws as `place` does. */
  moved(from: Place, to: Place): Place {
    return place(String(new Place([...to.names, ...this.names.slice(from.names.length)])));
  }
}

/** Orders places by their names, one after the other. */
export function inOrder(one: Place, other: Place): number {
  const at = one.names.findIndex((name, level) => name !== other.names[level]);
  if (at < 0) return one.names.length - other.names.length;
  const next = other.names[at];
  return next !== undefined && one.names[at]! < next ? -1 : 1;
}

/**
 * Reads a path; slashes that are doubled, or at its end, mean nothing.
 *
 * @throws NotDone: it is not below /memories, may lead out of it, is too long, or has hidden characters.
 */
export function place(path: string): Place {
  const shown = path.slice(0, MAX_BYTES);
  if (path !== ROOT && !path.startsWith(`${ROOT}/`)) throw new NotDone(`Path must start with /memories, got: ${shown}`);
  const names = path.slice(ROOT.length).split("/").filter(Boolean);
  if (ESCAPING.test(path) || names.includes(".") || names.includes("..")) {
    throw new NotDone(`Path ${shown} would escape /memories directory`);
  }
  if (HIDDEN.test(path)) throw new NotDone("Path has characters that cannot be seen. Please provide a valid path.");
  if (bytesOf(path) > MAX_BYTES || names.length > MAX_LEVELS) {
    throw new NotDone(`Path is too long: at most ${MAX_BYTES} bytes, and ${MAX_LEVELS} names below /memories.`);
  }
  return new Place(names);
}

/** Returns how many bytes of UTF-8 a text has. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
