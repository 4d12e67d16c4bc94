// Files as memories of an agent: each version of a file is a memory, and the newest one is the file.
//
// The text is the content, the path and the directories on the way to it are metadata. A file is deleted by forgetting
// its versions: where the newest one is forgotten, there is no file. The Python client keeps files alike.

import type { MemoryClient } from "../client.js";
import type { MemoryAnswer } from "../generated/types.js";
import type { CallOptions } from "../operation.js";
import { inOrder, NotDone, place, Place } from "./paths.js";

const PAGE = 100;
const APART_MS = 2;
const KEY = "store.key";
/** The text of a file without any words, which no content can be: its content is its path then. */
const BLANK = "store.blank";
const STORE = { store: "memory_20250818" };

type Metadata = Record<string, string>;

/** A file: where it is, and its text. */
export interface MemoryFile {
  readonly place: Place;
  readonly text: string;
}

/** The files of an agent. Every method rejects as the client does. */
export class Files {
  constructor(
    private readonly client: MemoryClient,
    private readonly agent: string,
    private readonly call: CallOptions = {},
  ) {}

  /** Returns the file there, if there is one. */
  async file(at: Place): Promise<MemoryFile | undefined> {
    for await (const newest of this.versions({ ...STORE, [KEY]: String(at) }, 1)) {
      return newest.forgotten_at ? undefined : fileOf(newest);
    }
    return undefined;
  }

  /** Returns the files in a directory, at any depth, ordered by their names. */
  async within(directory: Place): Promise<MemoryFile[]> {
    const files: MemoryFile[] = [];
    for await (const file of this.current(directory)) files.push(file);
    return files.sort((one, other) => inOrder(one.place, other.place));
  }

  /** Whether files are in it; /memories is always a directory. */
  async isDirectory(at: Place): Promise<boolean> {
    if (at.names.length === 0) return true;
    for await (const _ of this.current(at)) return true;
    return false;
  }

  /** Stores a new version of the file; the older ones are kept. */
  async write(at: Place, text: string): Promise<void> {
    const blank = text.trim() === "";
    const metadata = blank ? { ...metadataOf(at), [BLANK]: text } : metadataOf(at);
    // With a session of its own the same text again, or at another place, is a memory of its own.
    const options = { ...this.call, agent: this.agent, metadata, session_id: crypto.randomUUID() };
    await this.client.store(blank ? String(at) : text, options);
    // The service tells the time in milliseconds: what is written after this is to be newer.
    await new Promise((resolve) => setTimeout(resolve, APART_MS));
  }

  /** Forgets all versions of the files; the oldest first, so that a file is there until all of it is forgotten. */
  async forget(files: readonly MemoryFile[]): Promise<void> {
    for (const file of files) {
      const held: string[] = [];
      for await (const each of this.versions({ ...STORE, [KEY]: String(file.place) })) {
        if (!each.forgotten_at) held.push(each.id);
      }
      for (const memory_id of held.reverse()) {
        await this.client.operations.forget({ ...this.call, path: { profile: this.agent, memory_id } });
      }
    }
  }

  /** Gives the newest version of each file in a directory, unless it is forgotten. */
  private async *current(directory: Place): AsyncGenerator<MemoryFile> {
    const seen = new Set<unknown>();
    for await (const memory of this.versions(metadataWithin(directory))) {
      const path = memory.metadata[KEY];
      if (!seen.has(path) && !memory.forgotten_at) yield fileOf(memory);
      seen.add(path);
    }
  }

  /** Gives the versions of files, newest first, the forgotten ones too. */
  private async *versions(metadata: Metadata, limit = PAGE): AsyncGenerator<MemoryAnswer> {
    let cursor: string | undefined;
    do {
      const query = { agent_id: this.agent, metadata, limit, cursor };
      const listed = await this.client.operations.list_memories({ ...this.call, query });
      yield* listed.memories.filter(isFile);
      cursor = listed.cursor ?? undefined;
    } while (cursor !== undefined);
  }
}

/** Returns the metadata that all files in a directory have; metadata is compared for equality alone. */
function metadataWithin(directory: Place): Metadata {
  const level = directory.names.length;
  return level === 0 ? STORE : { ...STORE, [`store.${level}`]: String(directory) };
}

function metadataOf(at: Place): Metadata {
  const levels = at.above.map((above, level) => [`store.${level + 1}`, String(above)]);
  return { ...STORE, ...Object.fromEntries(levels), [KEY]: String(at) };
}

/** Whether this is a version of a file: by its other tools the agent can store what merely looks like one. */
function isFile({ metadata }: MemoryAnswer): boolean {
  const { [KEY]: path, [BLANK]: blank } = metadata;
  if (typeof path !== "string" || (blank !== undefined && typeof blank !== "string")) return false;
  const at = placeOf(path);
  if (at === undefined || at.names.length === 0) return false;
  const own: Metadata = { ...metadataOf(at), ...(blank === undefined ? {} : { [BLANK]: blank }) };
  const keys = Object.keys(metadata);
  return keys.length === Object.keys(own).length && keys.every((key) => Object.hasOwn(own, key) && own[key] === metadata[key]);
}

function placeOf(path: string): Place | undefined {
  try {
    return place(path);
  } catch (error) {
    if (error instanceof NotDone) return undefined;
    throw error;
  }
}

function fileOf({ metadata, content }: MemoryAnswer): MemoryFile {
  return { place: place(String(metadata[KEY])), text: String(metadata[BLANK] ?? content) };
}
