import type { IncomingHttpHeaders } from 'node:http';
import type { Span } from '../protocol/requests/json-spans.ts';
import type { TargetRequest } from '../upstream/provider-target.ts';
import { type Replacement, replaceSpans } from './replace-spans.ts';

/** What a client asked for, before a route is chosen. */
export interface PassedRequest {
  method: string;
  /** The path after `/v1`, with its query. */
  path: string;
  /** See `ProxyCall`. */
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

/** The request for one route, with its own name of the model in the body. */
export function requestFor(
  { method, path, api, headers, body, modelAt, encoding, changes }: PassedRequest,
  model: string,
): TargetRequest {
  const named = { start: modelAt.start, end: modelAt.end, text: encoding === 'json' ? JSON.stringify(model) : model };
  return { method, path, api, headers, body: replaceSpans(body, changes ? [...changes, named] : [named]) };
}
