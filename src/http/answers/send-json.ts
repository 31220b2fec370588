import type { ServerResponse } from 'node:http';
import { atTurnEnd } from '../../base/turn-end.ts';

/** Headers of every JSON answer of the gateway itself. */
export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
} as const;

/** Writes a complete JSON body in one piece, at the end of this turn of the event loop. */
export function sendJson(
  res: ServerResponse,
  answer: { status: number; headers: Record<string, string>; body: string | Buffer },
): void {
  res.writeHead(answer.status, {
    ...JSON_HEADERS,
    ...answer.headers,
    'content-length': Buffer.byteLength(answer.body),
  });
  atTurnEnd(() => res.end(answer.body));
}
