import { randomUUID } from 'node:crypto';
import type { FencingToken } from './run-store.ts';

/**
 * A new fencing token. The random part keeps two owners apart even where a failover forgot a claim and the counter
 * repeats.
 */
export function newToken(claims: number): FencingToken {
  return `${claims}-${newNonce()}`;
}

/** The random part of a token: of UUIDs, whose randomness the runtime draws many at a time. */
export function newNonce(): string {
  return randomUUID();
}
