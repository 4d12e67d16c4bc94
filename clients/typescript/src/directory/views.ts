// What the model is shown of files and directories, in the words of the memory tool's documentation.

import type { MemoryFile } from "./files.js";
import { bytesOf, inOrder, Place } from "./paths.js";

/** The most lines of one listing. */
export const MAX_LISTED = 1_000;

const LEVELS = 2;
const AROUND = 2;
const NUMBER_WIDTH = 6;
const UNITS = ["B", "K", "M", "G"];

/** Shows what is in a directory, of all its files, two levels deep, with sizes; that of a directory is of all files in it. */
export function listing(directory: Place, files: readonly MemoryFile[]): string {
  const shown = new Map<string, { place: Place; isDirectory: boolean; bytes: number }>();
  const depth = directory.names.length;
  for (const { place, text } of files) {
    const names = place.names.slice(depth);
    for (const [at, name] of names.slice(0, LEVELS).entries()) {
      if (name.startsWith(".") || name === "node_modules") break;
      const there = new Place(place.names.slice(0, depth + at + 1));
      const bytes = (shown.get(String(there))?.bytes ?? 0) + bytesOf(text);
      shown.set(String(there), { place: there, isDirectory: at + 1 < names.length, bytes });
    }
  }
  const lines = [...shown.values()]
    .sort((one, other) => inOrder(one.place, other.place))
    .map(({ place, isDirectory, bytes }) => `${size(bytes)}\t${place}${isDirectory ? "/" : ""}`);
  const left = lines.length - MAX_LISTED;
  const whole = files.reduce((sum, { text }) => sum + bytesOf(text), 0);
  return [
    `Here're the files and directories up to 2 levels deep in ${directory}, excluding hidden items and node_modules:`,
    `${size(whole)}\t${directory}`,
    ...lines.slice(0, MAX_LISTED),
    ...(left > 0 ? [`(${left} more are not shown: view a directory in it)`] : []),
  ].join("\n");
}

/** Shows the lines of a file from `first` to `last`, counted from 1. */
export function content({ place, text }: MemoryFile, first: number, last: number | undefined): string {
  return `Here's the content of ${place} with line numbers:\n${numbered(text.split("\n"), first, last)}`;
}

/** Shows the lines around the place in a text where something was replaced. */
export function edited(text: string, position: number): string {
  const changed = text.slice(0, position).split("\n").length;
  const shown = numbered(text.split("\n"), Math.max(1, changed - AROUND), changed + AROUND);
  return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${shown}`;
}

function numbered(lines: readonly string[], first: number, last: number | undefined): string {
  const shown = lines.slice(first - 1, last);
  return shown.map((line, at) => `${String(first + at).padStart(NUMBER_WIDTH)}\t${line}`).join("\n");
}

/** Writes a size as the SDK's own tool does: `17B`, `1.5K`, `2M`. */
function size(bytes: number): string {
  const unit = bytes === 0 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  const count = bytes / 1024 ** unit;
  return `${Number.isInteger(count) ? count : count.toFixed(1)}${UNITS[unit]}`;
}
