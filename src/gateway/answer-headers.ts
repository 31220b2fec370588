import { headersToClient } from '../upstream/provider-headers.ts';
import type { AnswerHead } from './exchange.ts';
import type { SecretMask } from './secret-mask.ts';

/** Headers of every stream (contract section 2): what stands in between must neither buffer nor compress it. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** The headers of an answer as a client gets them. */
export function passedHeaders({ headers }: AnswerHead, mask: SecretMask): Record<string, string> {
  const passed = headersToClient(headers);
  for (const [name, value] of Object.entries(passed)) passed[name] = mask.text(value);
  return passed;
}

/** The media type of an answer in lower case, without parameters; empty where it has none. */
export function mediaTypeOf({ headers }: AnswerHead): string {
  const type = headers['content-type'] ?? '';
  const semicolon = type.indexOf(';');
  return (semicolon === -1 ? type : type.slice(0, semicolon)).trim().toLowerCase();
}
