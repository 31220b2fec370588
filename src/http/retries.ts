import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { fieldError } from '../base/errors.ts';
import type { Caller, RepeatKey } from '../runs/submission.ts';

const IDEMPOTENCY_TTL_MS = 24 * 3_600_000;
/** How long a retry is recognised after the end of its run, in milliseconds. */
export const RETRY_TTL_MS = 120_000;
const MAX_KEY = 255;

/**
 * How a repeated submission is recognised (docs/api.md, "In general"): by its `Idempotency-Key`, separately for each user,
 * or else by the API key and the body. Official SDKs retry without such a key, and only count their attempts.
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
    const nameInVersion1 = `${caller.keyId}:${fingerprint}`;
    return { kind: 'retry', hash, fingerprint, ttlMs: RETRY_TTL_MS, sentBefore: isRetry(req), nameInVersion1 };
  }
  if (sent.length > MAX_KEY) {
    const param = 'Idempotency-Key';
    throw fieldError('invalid_parameter', param, `at most ${MAX_KEY} characters.`);
  }
  const hash = hashOf(caller.user, sent);
  return { kind: 'idempotency', hash, fingerprint, ttlMs: IDEMPOTENCY_TTL_MS, sentBefore: true };
}

function isRetry(req: IncomingMessage): boolean {
  const count = req.headers['x-stainless-retry-count'];
  return typeof count === 'string' && /^[1-9]\d*$/.test(count);
}

function hashOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const [index, part] of parts.entries()) hash.update(index > 0 ? '\0' : '').update(part);
  return hash.digest('hex');
}
