/**
 * Joins pieces into a Buffer outside Node's pool. Small Buffers are slices of pooled 64 KiB blocks, so one that is kept
 * for long would keep its whole block alive.
 */
export function concatUnpooled(pieces: readonly Uint8Array[]): Buffer {
  const joined = Buffer.allocUnsafeSlow(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

/** Memory that an unpooled Buffer and its entry in a map take besides its bytes. */
export const UNPOOLED_OVERHEAD_BYTES = 500;
