import type { IncomingHttpHeaders } from 'node:http';
import { type Span, topLevelSpans } from '../protocol/requests/json-spans.ts';
import type { TargetRequest } from '../upstream/provider-target.ts';

/** What a client asked for, before a route is chosen. */
export interface PassedRequest {
  method: string;
  /** The path after `/v1`, with its query: `/audio/speech?x=1`. */
  path: string;
  /** The API called: `chat_completions`, `responses`, or the path after `/v1/`. */
  api: string;
  /** The client's headers; those that no provider may see are left behind where it goes out. */
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Where in `body` the model's name stands: with its quotes in JSON, bare in a multipart form. */
  modelAt: Span;
  encoding: 'json' | 'multipart';
  /** What else changes in the body. */
  changes?: readonly Replacement[];
}

/** A range of bytes and what stands there instead. */
export interface Replacement extends Span {
  text: string;
}

/** The request for one route, with its own name of the model in the body. */
export function requestFor(
  { method, path, api, headers, body, modelAt, encoding, changes = [] }: PassedRequest,
  model: string,
): TargetRequest {
  const text = encoding === 'json' ? JSON.stringify(model) : model;
  const { start, end } = modelAt;
  const isSame = changes.length === 0 && body.toString('utf8', start, end) === text;
  const sent = isSame ? body : replaceSpans(body, [...changes, { start, end, text }]);
  return { method, path, api, headers, body: sent };
}

/** `body` with ranges that do not overlap replaced; every other byte stays as it came. */
export function replaceSpans(body: Buffer, replacements: readonly Replacement[]): Buffer {
  const ordered = replacements.toSorted((a, b) => a.start - b.start);
  let length = body.length;
  for (const { start, end, text } of ordered) length += Buffer.byteLength(text) - (end - start);
  const replaced = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of ordered) {
    to += body.copy(replaced, to, from, start);
    to += replaced.write(text, to);
    from = end;
  }
  body.copy(replaced, to, from);
  return replaced;
}

/**
 * What turns a chat request into one for a single answer: `stream` off, and `stream_options`, which providers refuse
 * without it, empty.
 */
export function unstreamed(body: Buffer): Replacement[] {
  return [
    ...topLevelSpans(body, 'stream').map((span) => ({ ...span, text: 'false' })),
    ...topLevelSpans(body, 'stream_options').map((span) => ({ ...span, text: 'null' })),
  ];
}
