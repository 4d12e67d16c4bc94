// How what is remembered is written for a model: as data that nothing in it can close or hide in.

const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u034f\u115f\u1160\u180b-\u180f\u2028\u2029\u3164\ufe00-\ufe0d\uffa0\u{e0100}-\u{e01ef}]/gu;

/** Writes a value as JSON on one line, in which characters that act or hide where they are shown are escaped. */
export function quoted(value: unknown): string {
  return JSON.stringify(value).replace(HIDDEN, (hidden) =>
    Array.from({ length: hidden.length }, (_, at) => `\\u${hidden.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}

/** Writes words for a prompt: quoted so that they end no tag either, such as the one that a harness puts around them. */
export function quotation(text: string): string {
  return quoted(text).replace(/[<>]/g, (mark) => (mark === "<" ? "\\u003c" : "\\u003e"));
}

/** Returns a text without what the service cannot store: NUL, and halves of characters. */
export function storable(text: string): string {
  return text.replace(/[\0\p{Cs}]/gu, "\ufffd");
}
