import type { ServerResponse } from 'node:http';
import { atTurnEnd } from '../../base/turn-end.ts';
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

/** From here on an answer goes out piece by piece, and the length of a piece, in UTF-16 code units or bytes. */
const MAX_UNCHUNKED = 256 * 1024;
const PIECE_LENGTH = 64 * 1024;

/**
 * Writes a complete JSON body: a short one in one piece, a long one at the pace of its reader, so that nothing of it
 * lies in the socket's memory besides the text itself.
 * @throws GatewayError `overloaded` where too many long ones are being read.
 */
export async function writeJson(res: ServerResponse, answer: JsonAnswer, held: LongAnswers): Promise<void> {
  const { status, headers, body } = answer;
  if (body.length <= MAX_UNCHUNKED) return sendJson(res, answer);
  const bytes = Buffer.byteLength(body);
  using place = held.reserve(res, bytes);
  res.writeHead(status, { ...JSON_HEADERS, ...headers, 'content-length': bytes });
  await writePieces(res, body, place);
}

/** Ends an answer that was begun with a text. @throws GatewayError as `writeJson`. */
export async function endWithText(res: ServerResponse, text: string, held: LongAnswers): Promise<void> {
  if (text.length <= MAX_UNCHUNKED) {
    res.end(text);
    return;
  }
  using place = held.reserve(res, Buffer.byteLength(text));
  await writePieces(res, text, place);
}

async function writePieces(res: ServerResponse, text: string | Buffer, place: { moved(): void }): Promise<void> {
  if (res.req.method !== 'HEAD') {
    for (let at = 0; at < text.length && !res.destroyed; ) {
      const end = typeof text === 'string' ? endOfPiece(text, at + PIECE_LENGTH) : at + PIECE_LENGTH;
      const piece = typeof text === 'string' ? text.slice(at, end) : text.subarray(at, end);
      if (!res.write(piece)) await waitUntilWritable(res);
      place.moved();
      at = end;
    }
  }
  if (!res.destroyed) res.end();
}

/** Not between the halves of a character. */
function endOfPiece(text: string, end: number): number {
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code <= 0xdfff ? end + 1 : end;
}
