import { createHash, hash as hashAtOnce } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../base/errors.ts';
import type { Caller, RepeatKey } from '../runs/runs.ts';

const IDEMPOTENCY_TTL_MS = 24 * 3_600_000;
/** After the end of the run. */
const RETRY_TTL_MS = 120_000;
const MAX_KEY = 255;

/**
 * What a repeat of a submission is recognised by (contract section 2): its `Idempotency-Key`, kept apart by user; else
 * the API key and the body, for official SDKs retry by themselves without such a key and only count.
 * @throws GatewayError `invalid_parameter` for a key that is too long.
 */
export function repeatKeyOf(
  req: IncomingMessage,
  { path, raw, caller }: { path: string; raw: Buffer; caller: Caller },
): RepeatKey {
  const fingerprint = hashOf(path, raw);
  const sent = req.headers['idempotency-key'];
  if (typeof sent !== 'string' || sent === '') {
    const hash = hashOf(caller.user, caller.keyId, fingerprint);
    return { kind: 'retry', hash, fingerprint, ttlMs: RETRY_TTL_MS, sentBefore: isRetry(req) };
  }
  if (sent.length > MAX_KEY) {
    const param = 'Idempotency-Key';
    throw new GatewayError('invalid_parameter', `${param}: at most ${MAX_KEY} characters.`, { param });
  }
  const hash = hashOf(caller.user, sent);
  return { kind: 'idempotency', hash, fingerprint, ttlMs: IDEMPOTENCY_TTL_MS, sentBefore: true };
}

function isRetry(req: IncomingMessage): boolean {
  const count = req.headers['x-stainless-retry-count'];
  return typeof count === 'string' && /^[1-9]\d*$/.test(count);
}

/** Bodies up to this size are hashed in one call, which costs a third of the object for it, in bytes. */
const SMALL_BODY = 16 * 1024;

function hashOf(...parts: readonly (string | Buffer)[]): string {
  const last = parts.at(-1);
  if (last === undefined || last.length <= SMALL_BODY) {
    const pieces = parts.flatMap((part, index) => [Buffer.from(index > 0 ? '\0' : ''), Buffer.from(part)]);
    return hashAtOnce('sha256', Buffer.concat(pieces), 'hex');
  }
  const hash = createHash('sha256');
  parts.forEach((part, index) => {
    if (index > 0) hash.update('\0');
    hash.update(part);
  });
  return hash.digest('hex');
}
