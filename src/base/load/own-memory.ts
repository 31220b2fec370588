/**
 * The pieces joined, in memory of their own. Small Buffers are parts of blocks of 64 KiB that they share with whatever was
 * made before and after them: one that is kept for long would keep all of its block.
 */
export function inOwnMemory(pieces: readonly Uint8Array[]): Buffer {
  const joined = Buffer.allocUnsafeSlow(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

/** What an object with memory of its own, and its place in a map, take besides its bytes. */
export const OWN_MEMORY_BYTES = 500;
