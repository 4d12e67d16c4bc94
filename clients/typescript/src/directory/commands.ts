// The commands of Anthropic's memory tool (memory_20250818) on the files of an agent.

import type { Files, MemoryFile } from "./files.js";
import { NotDone, place, type Place } from "./paths.js";
import * as views from "./views.js";

/** What the model has to write for each command; the SDK does not check it. */
const FIELDS = {
  view: { path: "string" },
  create: { path: "string", file_text: "string" },
  str_replace: { path: "string", old_str: "string" },
  insert: { path: "string", insert_line: "number", insert_text: "string" },
  delete: { path: "string" },
  rename: { old_path: "string", new_path: "string" },
} as const;

/** A command with what the model has written for it. */
export type Command = keyof typeof FIELDS;
type Written = Record<string, unknown>;

/**
 * Carries out what a model has written and returns what it is told.
 *
 * @throws NotDone: it cannot be done; the message is for the model. Else as the client rejects.
 */
export async function carryOut(files: Files, written: unknown): Promise<string> {
  const [command, said] = checked(written);
  const text = (name: string) => said[name] as string;
  const at = () => place(text("path"));
  switch (command) {
    case "view":
      return view(files, at(), said["view_range"] as [number, number] | undefined);
    case "create":
      return create(files, at(), text("file_text"));
    case "str_replace":
      return replace(files, at(), text("old_str"), (said["new_str"] as string | undefined) ?? "");
    case "insert":
      return insert(files, at(), said["insert_line"] as number, text("insert_text"));
    case "delete":
      return remove(files, at());
    case "rename":
      return rename(files, place(text("old_path")), place(text("new_path")));
  }
}

async function view(files: Files, at: Place, range: [number, number] | undefined): Promise<string> {
  const file = await fileAt(files, at);
  if (file) {
    const [first, last] = range ?? [1, -1];
    return views.content(file, Math.max(1, first), last === -1 ? undefined : Math.max(0, last));
  }
  const found = await files.within(at);
  if (at.names.length > 0 && found.length === 0) throw missing(at);
  return views.listing(at, found);
}

async function create(files: Files, at: Place, text: string): Promise<string> {
  if (await exists(files, at)) throw new NotDone(`Error: File ${at} already exists`);
  await checkAbove(files, at);
  await files.write(at, text);
  return `File created successfully at: ${at}`;
}

async function replace(files: Files, at: Place, old: string, by: string): Promise<string> {
  const file = await fileAt(files, at);
  if (!file) throw new NotDone(`Error: ${missing(at).message}`);
  const [before, ...after] = old === "" ? [file.text] : file.text.split(old);
  if (after.length === 0) {
    throw new NotDone(`No replacement was performed, old_str \`${old}\` did not appear verbatim in ${at}.`);
  }
  if (after.length > 1) {
    const lines = linesWith(file.text, old).join(", ");
    throw new NotDone(
      `No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${lines}. ` +
        "Please ensure it is unique",
    );
  }
  const text = [before, ...after].join(by);
  await files.write(at, text);
  return views.edited(text, before!.length);
}

async function insert(files: Files, at: Place, line: number, text: string): Promise<string> {
  const file = await fileAt(files, at);
  if (!file) throw new NotDone(`Error: The path ${at} does not exist`);
  const lines = file.text === "" ? [] : file.text.replace(/\n$/, "").split("\n");
  if (!Number.isInteger(line) || line < 0 || line > lines.length) {
    throw new NotDone(
      `Error: Invalid \`insert_line\` parameter: ${line}. ` +
        `It should be within the range of lines of the file: [0, ${lines.length}]`,
    );
  }
  const all = lines.toSpliced(line, 0, text.replace(/\n+$/, "")).join("\n");
  await files.write(at, `${all.replace(/\n$/, "")}\n`);
  return `The file ${at} has been edited.`;
}

async function remove(files: Files, at: Place): Promise<string> {
  if (at.names.length === 0) throw new NotDone("Cannot delete the /memories directory itself");
  await files.forget(await all(files, at));
  return `Successfully deleted ${at}`;
}

async function rename(files: Files, from: Place, to: Place): Promise<string> {
  if (from.names.length === 0) throw new NotDone("Cannot rename the /memories directory itself");
  if (await exists(files, to)) throw new NotDone(`Error: The destination ${to} already exists`);
  const found = await all(files, from);
  if (to.isWithin(from)) throw new NotDone(`Error: The destination ${to} is inside ${from}`);
  await checkAbove(files, to);
  const moved = found.map((file) => ({ place: file.place.moved(from, to), text: file.text }));
  for (const file of moved) await files.write(file.place, file.text);
  await files.forget(found);
  return `Successfully renamed ${from} to ${to}`;
}

function fileAt(files: Files, at: Place): Promise<MemoryFile | undefined> {
  return at.names.length === 0 ? Promise.resolve(undefined) : files.file(at);
}

async function exists(files: Files, at: Place): Promise<boolean> {
  return (await fileAt(files, at)) !== undefined || files.isDirectory(at);
}

/** Returns the file, or all files in the directory. */
async function all(files: Files, at: Place): Promise<MemoryFile[]> {
  const file = await fileAt(files, at);
  const found = file ? [file] : await files.within(at);
  if (found.length === 0) throw new NotDone(`Error: The path ${at} does not exist`);
  return found;
}

/** Checks that no file stands where a directory would have to be. */
async function checkAbove(files: Files, at: Place): Promise<void> {
  for (const above of at.above) {
    if (await files.file(above)) throw new NotDone(`Error: ${above} is a file, not a directory`);
  }
}

function missing(at: Place): NotDone {
  return new NotDone(`The path ${at} does not exist. Please provide a valid path.`);
}

/** Checks what the model has written for a command, and returns both. */
function checked(written: unknown): [Command, Written] {
  const said = (typeof written === "object" && written !== null ? written : {}) as Written;
  const { command } = said;
  if (typeof command !== "string" || !Object.hasOwn(FIELDS, command)) {
    const shown = JSON.stringify(command)?.slice(0, 80);
    throw new NotDone(`Error: Unknown command: ${shown}. There are ${Object.keys(FIELDS).join(", ")}.`);
  }
  const named = command as Command;
  const optional = said["new_str"] === undefined || said["new_str"] === null ? {} : { new_str: "string" };
  for (const [name, type] of Object.entries({ ...FIELDS[named], ...optional })) {
    if (typeof said[name] === type) continue;
    throw new NotDone(`Error: The parameter \`${name}\` of ${named} must be ${type === "number" ? "a number" : "a text"}.`);
  }
  const range = said["view_range"];
  if (range === null) return [named, { ...said, view_range: undefined }];
  if (range !== undefined && !(Array.isArray(range) && range.length === 2 && range.every(Number.isInteger))) {
    throw new NotDone("Error: The parameter `view_range` of view must be two numbers: the first line and the last.");
  }
  return [named, said];
}

/** Returns the lines in which a part begins, each once. */
function linesWith(text: string, part: string): number[] {
  const lines = new Set<number>();
  let line = 1;
  let counted = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    line += text.slice(counted, at).split("\n").length - 1;
    counted = at;
    lines.add(line);
  }
  return [...lines];
}
