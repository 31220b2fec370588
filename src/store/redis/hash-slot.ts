/** How many slots a Redis Cluster has. */
export const SLOTS = 16_384;

const POLYNOMIAL = 0x1021;

/** CRC-16/XMODEM of one byte, for each byte. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
  return crc;
});

/** The slot of a key: of its hash tag where it has one (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/). */
export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(hashedPart(key))) crc = ((crc << 8) ^ (TABLE[(crc >> 8) ^ byte] ?? 0)) & 0xffff;
  return crc % SLOTS;
}

/** The part of a key that decides about its slot. */
export function hashedPart(key: string): string {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}

/** A key that begins with `prefix`, which holds no brace, in the slot of `key`. Takes some milliseconds. */
export function sameSlot(key: string, prefix: string): string {
  const slot = slotOf(key);
  for (let n = 0; ; n++) {
    const found = `${prefix}:${n}`;
    if (slotOf(found) === slot) return found;
  }
}
