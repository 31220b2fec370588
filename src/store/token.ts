import { randomUUID } from 'node:crypto';
import type { FencingToken } from './run-store.ts';

/**
 * A new fencing token. The random part keeps two owners apart even where a failover forgot a claim and the counter
 * repeats.
 */
export function newToken(claims: number): FencingToken {
  return `${claims}-${randomUUID()}`;
}

/** Which claim of its run a token stands for, the first being 1; 0 for a text that is no token. */
export function claimNumber(token: FencingToken): number {
  return Number.parseInt(token, 10) || 0;
}
