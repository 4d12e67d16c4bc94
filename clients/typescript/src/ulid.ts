const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CHANCE_BITS = 80n;

let last = 0n;

/** Returns a fresh ULID. Those of one program go up, also within a millisecond: what they name keeps its order. */
export function ulid(): string {
  const chance = crypto.getRandomValues(new Uint8Array(10)).reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
  const fresh = (BigInt(Date.now()) << CHANCE_BITS) | (chance >> 1n);
  last = fresh > last ? fresh : last + 1n;
  return Array.from({ length: 26 }, (_, at) => ALPHABET[Number((last >> BigInt(125 - 5 * at)) & 31n)]).join("");
}
