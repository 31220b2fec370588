import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { LARGE_BYTES, measureStep, yieldToEventLoop } from '../../base/load/event-loop.ts';
import { type JsonShape, measureShape } from '../../protocol/requests/json-spans.ts';
import { type BodySource, readBody } from './read-body.ts';

/** A JSON object and its bytes. The gateway reads the object, and proxies the bytes. */
export interface JsonBody {
  raw: Buffer;
  json: Record<string, unknown>;
}

/**
 * The most complex JSON that is accepted. Deeper JSON overflows the stack when it is serialised; very many small values
 * take a second and a quarter of a gigabyte to parse, unlike a few long texts.
 */
const MAX_SHAPE: JsonShape = { depth: 256, containers: 100_000, members: 100_000, entries: 500_000 };

/** How many fields a request may have: each unknown one is looked at, and the object is copied. */
const MAX_FIELDS = 1000;

/** Some clients, such as those of .NET and PowerShell, write it before the JSON. */
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** Whether the request announces a body. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** The media type of the body in lower case, without parameters; empty if there is none. */
export function mediaType(req: IncomingMessage): string {
  return (req.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/**
 * Reads a JSON object, after looking at its headers.
 * @throws GatewayError `unsupported_media_type`, `invalid_json`, and as `readBody`.
 */
export async function readJson(source: BodySource): Promise<JsonBody> {
  if (hasBody(source.req)) requireJson(source.req);
  const body = await readBody(source);
  const raw = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? body.subarray(BYTE_ORDER_MARK.length)
    : body;
  const isLarge = raw.length > LARGE_BYTES;
  measureStep('checking a JSON body', () => requireReadable(raw));
  if (isLarge) await yieldToEventLoop();
  const json = measureStep('reading a JSON body', () => parseReadable(raw));
  if (isLarge) await yieldToEventLoop();
  return { raw, json };
}

/** Reads and discards the body of an endpoint that needs none, under the same rules for type and size. */
export async function skipBody(source: BodySource): Promise<void> {
  if (!hasBody(source.req)) return;
  // A client that always sends chunks announces a body that may be empty.
  const isAnnounced = source.req.headers['content-length'] !== undefined;
  if (isAnnounced) requireJson(source.req);
  const body = await readBody(source);
  if (body.length > 0) requireJson(source.req);
}

function requireJson(req: IncomingMessage): void {
  requireIdentity(req);
  // The common case first.
  if (req.headers['content-type'] === 'application/json') return;
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(req.headers['content-type'] ?? '')?.[1]?.toLowerCase();
  const readable = charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii';
  if (mediaType(req) !== 'application/json' || !readable) {
    throw notJson();
  }
}

export function notJson(): GatewayError {
  return new GatewayError('unsupported_media_type', 'Send JSON with the header "Content-Type: application/json".');
}

/** @throws GatewayError `unsupported_media_type` for a compressed body. */
export function requireIdentity(req: IncomingMessage): void {
  const encoding = req.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return;
  throw new GatewayError('unsupported_media_type', 'Send the body without Content-Encoding.');
}

/** @throws GatewayError `invalid_json`. */
export function parseObject(raw: Buffer): Record<string, unknown> {
  return measureStep('reading a JSON body', () => {
    requireReadable(raw);
    return parseReadable(raw);
  });
}

/** Parses JSON for which `requireReadable` has not thrown. @throws GatewayError `invalid_json`. */
function parseReadable(raw: Buffer): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(raw.toString('utf8'));
  } catch {
    throw new GatewayError('invalid_json', 'The body is not valid JSON.');
  }
  if (!isObject(parsed)) throw new GatewayError('invalid_json', 'The body must be a JSON object.');
  if (Object.keys(parsed).length > MAX_FIELDS) {
    throw new GatewayError('invalid_json', `The body has more than ${MAX_FIELDS} fields.`);
  }
  return parsed;
}

/** @throws GatewayError `invalid_json` where parsing would take too long or fail for its form. */
function requireReadable(raw: Buffer): void {
  if (!isUtf8(raw)) throw new GatewayError('invalid_json', 'The body is not UTF-8.');
  // Each level needs two bytes, so a body this short cannot be nested too deeply.
  if (raw.length <= MAX_SHAPE.depth * 2) return;
  const { depth, containers, members, entries } = measureShape(raw, MAX_SHAPE);
  if (depth > MAX_SHAPE.depth) {
    throw new GatewayError('invalid_json', `The body is nested more than ${MAX_SHAPE.depth} levels deep.`);
  }
  const counts = {
    'objects and lists': [containers, MAX_SHAPE.containers],
    'members of objects': [members, MAX_SHAPE.members],
    values: [entries, MAX_SHAPE.entries],
  } as const;
  for (const [what, [found, limit]] of Object.entries(counts)) {
    if (found > limit) throw new GatewayError('invalid_json', `The body holds more than ${limit} ${what}.`);
  }
}
