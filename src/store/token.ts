import { randomUUID } from 'node:crypto';
import type { FencingToken } from './run-store.ts';

/**
 * A new fencing token. The random part keeps two owners apart even where a failover forgot a claim and the counter
 * repeats.
 */
export function newToken(claims: number): FencingToken {
  return `${claims}-${randomUUID()}`;
}
