import type { IncomingHttpHeaders } from 'node:http';
import { type Span, spansByName } from '../protocol/requests/json-spans.ts';
import type { TargetRequest } from '../upstream/provider-target.ts';

/** A client's request before a route is chosen. */
export interface ProxiedRequest {
  method: string;
  /** The path after `/v1`, with its query: `/audio/speech?x=1`. */
  path: string;
  /** The API called: `chat_completions`, `responses`, or the path after `/v1/`. */
  api: string;
  /** The client's headers. Those that no provider may see are removed when the request is sent. */
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Where `body` names the model: with the quotes in JSON, without any in a multipart form. */
  modelAt: Span;
  encoding: 'json' | 'multipart';
  /** Further changes to the body. */
  changes?: readonly Replacement[];
}

/** A range of bytes and its replacement. */
export interface Replacement extends Span {
  text: string;
}

/** The request for one route: the body has the route's own name of the model. */
export function requestFor(
  { method, path, api, headers, body, modelAt, encoding, changes = [] }: ProxiedRequest,
  model: string,
): TargetRequest {
  const text = encoding === 'json' ? JSON.stringify(model) : model;
  const { start, end } = modelAt;
  const isSame = changes.length === 0 && body.toString('utf8', start, end) === text;
  const sent = isSame ? body : replaceSpans(body, [...changes, { start, end, text }]);
  return { method, path, api, headers, body: sent };
}

/** Replaces ranges of `body` that do not overlap; every other byte stays as it is. */
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

/** Where a chat request names its model, and the changes that turn it into one that is not streamed. */
export function readUnstreamed(body: Buffer): { modelAt: Span | undefined; changes: Replacement[] } {
  const { model, stream, stream_options: options } = spansByName(body, ['model', 'stream', 'stream_options']);
  const unstreamed = stream.map((span) => ({ ...span, text: 'false' }));
  // Providers refuse `stream_options` without `stream`.
  return { modelAt: model[0], changes: [...unstreamed, ...options.map((span) => ({ ...span, text: 'null' }))] };
}
