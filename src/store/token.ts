import { randomUUID } from 'node:crypto';
import type { FencingToken } from './run-store.ts';

/**
 * A new fencing token. Its random part keeps two owners apart even if a failover lost a claim and the counter repeats.
 */
export function newToken(claims: number): FencingToken {
  return `${claims}-${randomUUID()}`;
}

/** The number of the claim that a token stands for, starting at 1; 0 if the text is no token. */
export function claimNumber(token: FencingToken): number {
  return Number.parseInt(token, 10) || 0;
}
