import type { IncomingHttpHeaders } from 'node:http';
import type { Span } from '../protocol/json-spans.ts';
import type { Provider } from '../upstream/provider.ts';
import { headersToProvider } from '../upstream/provider-headers.ts';
import type { Route } from '../upstream/routes.ts';
import type { Doorway } from './doorway.ts';
import { type Replacement, replaceSpans } from './replace-spans.ts';

/** What a client asked for, before a route is chosen. */
export interface PassedRequest {
  method: string;
  /** The path after `/v1`, with its query. */
  path: string;
  /** See `ProxyCall`. */
  api: string;
  /** The client's headers; those that no provider may see are left behind here. */
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Where in `body` the model's name stands: with its quotes in JSON, bare in a multipart form. */
  modelAt: Span;
  encoding: 'json' | 'multipart';
  /** What else changes in the body. */
  changes?: readonly Replacement[];
}

/** A request as it goes out to one provider. */
export interface OutgoingRequest {
  provider: Provider;
  method: string;
  origin: string;
  /** Path with query. */
  path: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** The request for one route: the provider's address and credentials, and its own name of the model in the body. */
export function outgoing(request: PassedRequest, route: Route, doorway: Doorway): OutgoingRequest {
  const { method, path, api, headers, body, modelAt, encoding, changes = [] } = request;
  const text = encoding === 'json' ? JSON.stringify(route.model) : route.model;
  return {
    provider: route.provider,
    method,
    ...doorway.address({ path, api }),
    // What is compressed can be neither looked into for errors nor counted.
    headers: { 'accept-encoding': 'identity', ...headersToProvider(headers, route) },
    body: replaceSpans(body, [...changes, { ...modelAt, text }]),
  };
}
