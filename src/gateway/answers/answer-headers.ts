import { STREAM_HEADERS } from '../../protocol/frames.ts';
import type { AnswerHead } from '../../upstream/provider-target.ts';

/** The media type of an answer in lower case, without parameters; empty if there is none. */
export function mediaTypeOf({ headers }: AnswerHead): string {
  const type = headers['content-type'] ?? '';
  const semicolon = type.indexOf(';');
  return (semicolon === -1 ? type : type.slice(0, semicolon)).trim().toLowerCase();
}

export function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.endsWith('+json');
}

export function streamHeaders(upstreamRequestId: string | undefined): Readonly<Record<string, string>> {
  if (upstreamRequestId === undefined) return STREAM_HEADERS;
  return { ...STREAM_HEADERS, 'x-upstream-request-id': upstreamRequestId };
}
