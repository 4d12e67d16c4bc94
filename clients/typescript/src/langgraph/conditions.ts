/** The filter of a search: values, nested values, and the operators of LangGraph's own stores. */

type Compare = (held: unknown, operand: unknown) => boolean;

const COMPARED: Readonly<Record<string, Compare>> = {
  $eq: same,
  $ne: (held, operand) => !same(held, operand),
  $gt: (held, operand) => Number(held) > Number(operand),
  $gte: (held, operand) => Number(held) >= Number(operand),
  $lt: (held, operand) => Number(held) < Number(operand),
  $lte: (held, operand) => Number(held) <= Number(operand),
};

/** Whether each key of the filter has what it asks for; throws where there is no such operator. */
export function passes(value: Record<string, unknown>, filter: Record<string, unknown>): boolean {
  return Object.entries(filter).every(([key, wanted]) => matches(value[key], wanted));
}

function matches(held: unknown, wanted: unknown): boolean {
  if (!isObject(wanted)) return same(held, wanted);
  if (!Object.keys(wanted).some((key) => key.startsWith("$"))) return isObject(held) && passes(held, wanted);
  return Object.entries(wanted).every(([name, operand]) => {
    const compare = COMPARED[name];
    if (!compare) throw new TypeError(`A filter has no operator '${name}': there are ${Object.keys(COMPARED).join(", ")}.`);
    return compare(held, operand);
  });
}

function same(held: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(held) && held.length === wanted.length && wanted.every((each, at) => matches(held[at], each));
  }
  if (isObject(wanted)) {
    return isObject(held) && Object.keys(held).length === Object.keys(wanted).length && passes(held, wanted);
  }
  return held === wanted;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
