import type { Dispatcher, Response } from 'undici';
import { fetch } from 'undici';

/** The most that is read of an error answer, in bytes. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Headers of the OpenAI client that go out; what else it sends tells of our runtime only. */
const CLIENT_HEADERS = ['authorization', 'accept', 'content-type'] as const;

export interface ProviderCall {
  dispatcher: Dispatcher;
  /** The operator's own headers for this provider; they win. */
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** An answer that is no stream, with what was read of its body. */
export interface Refusal {
  status: number;
  headers: Response['headers'];
  text: string;
}

/**
 * The request of the OpenAI client, made through our own connection pool: only the headers meant for the provider go
 * out, redirects are not followed (they could carry credentials elsewhere).
 */
export function callProvider(
  url: string,
  init: { method: string; body: string; headers: Iterable<[string, string]> },
  call: ProviderCall,
): Promise<Response> {
  const given = new Map([...init.headers].map(([name, value]) => [name.toLowerCase(), value]));
  // Compressed streams come in lumps.
  const headers: Record<string, string> = { 'user-agent': 'research-gateway', 'accept-encoding': 'identity' };
  for (const name of CLIENT_HEADERS) {
    const value = given.get(name);
    if (value !== undefined) headers[name] = value;
  }
  for (const [name, value] of Object.entries(call.headers)) headers[name.toLowerCase()] = value;
  return fetch(url, {
    method: init.method,
    body: init.body,
    headers,
    signal: call.signal,
    dispatcher: call.dispatcher,
    redirect: 'manual',
  });
}

/** Reads an error answer, at most 64 KiB of it, and lets the connection go. */
export async function readRefusal(response: Response): Promise<Refusal> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  if (response.body) {
    for await (const piece of response.body) {
      pieces.push(piece);
      size += piece.byteLength;
      if (size >= MAX_ERROR_BYTES) break;
    }
  }
  const text = Buffer.concat(pieces).subarray(0, MAX_ERROR_BYTES).toString('utf8');
  return { status: response.status, headers: response.headers, text };
}
