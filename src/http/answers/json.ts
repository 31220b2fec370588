import type { ServerResponse } from 'node:http';
import { atTurnEnd } from '../../base/load/turn-end.ts';
import type { LongAnswers } from '../limits/long-answers.ts';
import { waitUntilWritable } from './sse.ts';

/** Headers of every JSON answer of the gateway itself. */
export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
} as const;

/** A complete JSON body; bytes are UTF-8. */
export interface JsonAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
}

/** Writes a complete JSON body in one piece, at the end of this turn of the event loop. */
export function sendJson(res: ServerResponse, { status, headers, body }: JsonAnswer): void {
  res.writeHead(status, { ...JSON_HEADERS, ...headers, 'content-length': Buffer.byteLength(body) });
  atTurnEnd(() => res.end(body));
}

/** Longer answers are written piece by piece, and the length of a piece, in UTF-16 code units or bytes. */
const MAX_UNCHUNKED = 256 * 1024;
const PIECE_LENGTH = 64 * 1024;

/**
 * Writes a complete JSON body: a short one in one piece, a long one at the pace of its reader, so that the socket does not
 * buffer a second copy.
 * @throws GatewayError `overloaded` if too many long answers are being read.
 */
export async function writeJson(res: ServerResponse, answer: JsonAnswer, longAnswers: LongAnswers): Promise<void> {
  const { status, headers, body } = answer;
  if (body.length <= MAX_UNCHUNKED) return sendJson(res, answer);
  const bytes = Buffer.byteLength(body);
  using reservation = longAnswers.reserve(res, bytes);
  res.writeHead(status, { ...JSON_HEADERS, ...headers, 'content-length': bytes });
  await writePieces(res, body, reservation);
}

/** Ends an answer whose headers were sent with a text. @throws GatewayError as `writeJson`. */
export async function endWithText(res: ServerResponse, text: string, longAnswers: LongAnswers): Promise<void> {
  if (text.length <= MAX_UNCHUNKED) {
    res.end(text);
    return;
  }
  using reservation = longAnswers.reserve(res, Buffer.byteLength(text));
  await writePieces(res, text, reservation);
}

async function writePieces(res: ServerResponse, text: string | Buffer, reservation: { moved(): void }): Promise<void> {
  if (res.req.method !== 'HEAD') {
    for (let at = 0; at < text.length && !res.destroyed; ) {
      const end = typeof text === 'string' ? endOfPiece(text, at + PIECE_LENGTH) : at + PIECE_LENGTH;
      const piece = typeof text === 'string' ? text.slice(at, end) : text.subarray(at, end);
      if (!res.write(piece)) await waitUntilWritable(res);
      reservation.moved();
      at = end;
    }
  }
  if (!res.destroyed) res.end();
}

/** Moves `end` so that it does not split a surrogate pair. */
function endOfPiece(text: string, end: number): number {
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code <= 0xdfff ? end + 1 : end;
}
