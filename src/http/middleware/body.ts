import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { nestingDepth } from '../../protocol/json-spans.ts';

/** A JSON object and the bytes that it came in: what is passed on is the bytes, what is understood the object. */
export interface JsonBody {
  raw: Buffer;
  json: Record<string, unknown>;
}

/** Deeper JSON is refused: writing it again would overflow the stack. */
const MAX_DEPTH = 256;

/** Whether the request announces a body. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** The media type of the body in lower case, without parameters; empty where there is none. */
export function mediaType(req: IncomingMessage): string {
  const header = req.headers['content-type'] ?? '';
  const semicolon = header.indexOf(';');
  return (semicolon === -1 ? header : header.slice(0, semicolon)).trim().toLowerCase();
}

/**
 * Reads a JSON object, after looking at its headers.
 * @throws GatewayError `unsupported_media_type`, `request_too_large`, `invalid_json`.
 */
export async function readJson(req: IncomingMessage, res: ServerResponse, limit: number): Promise<JsonBody> {
  if (hasBody(req)) requireJson(req);
  const raw = await readBody(req, res, limit);
  return { raw, json: parseObject(raw) };
}

/** Reads away the body of an endpoint that needs none, under the same rules for type and size. */
export async function skipBody(req: IncomingMessage, res: ServerResponse, limit: number): Promise<void> {
  if (!hasBody(req)) return;
  requireJson(req);
  await readBody(req, res, limit);
}

function requireJson(req: IncomingMessage): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(req.headers['content-type'] ?? '')?.[1]?.toLowerCase();
  const readable = charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii';
  if (mediaType(req) !== 'application/json' || !readable) {
    throw new GatewayError('unsupported_media_type', 'Send JSON with the header "Content-Type: application/json".');
  }
  requireIdentity(req);
}

/** @throws GatewayError `unsupported_media_type` for a compressed body. */
export function requireIdentity(req: IncomingMessage): void {
  const encoding = req.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return;
  throw new GatewayError('unsupported_media_type', 'Send the body without Content-Encoding.');
}

/**
 * The body's bytes, read once.
 * @throws GatewayError `request_too_large` over `limit` bytes, before reading where the length is announced.
 */
export function readBody(req: IncomingMessage, res: ServerResponse, limit: number): Promise<Buffer> {
  const announced = Number(req.headers['content-length'] ?? 0);
  if (announced > limit) return Promise.reject(tooLarge(limit));
  // A client that sent `Expect: 100-continue` waits for this before it sends the body.
  if (req.headers.expect !== undefined) res.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (finish: () => void) => {
      req.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
      finish();
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > limit) settle(() => reject(tooLarge(limit)));
    };
    const onEnd = () => settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    const onError = () => settle(() => reject(broken()));
    const onClose = () => settle(() => reject(broken()));
    req.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError('request_too_large', `The body is larger than ${limit} bytes.`);
}

function broken(): GatewayError {
  return new GatewayError('invalid_json', 'The body ended before it was complete.');
}

/** @throws GatewayError `invalid_json`. */
export function parseObject(raw: Buffer): Record<string, unknown> {
  if (!isUtf8(raw)) throw new GatewayError('invalid_json', 'The body is not UTF-8.');
  if (raw.length > MAX_DEPTH && nestingDepth(raw) > MAX_DEPTH) {
    throw new GatewayError('invalid_json', `The body is nested more than ${MAX_DEPTH} levels deep.`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(raw.toString('utf8'));
  } catch {
    throw new GatewayError('invalid_json', 'The body is not valid JSON.');
  }
  if (!isObject(parsed)) throw new GatewayError('invalid_json', 'The body must be a JSON object.');
  return parsed;
}
