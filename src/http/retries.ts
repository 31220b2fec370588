import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../base/errors.ts';
import type { KeyConfig } from '../config/schema.ts';
import type { RunId, Submission } from '../runs/runs.ts';
import type { Cache, Caches } from '../store/cache.ts';

const IDEMPOTENCY_TTL_MS = 24 * 3_600_000;
const RETRY_TTL_MS = 120_000;
const MAX_KEY = 255;

/** What tells a repeated submission from a new one. */
export interface Fingerprint {
  /** Of the path and the body's bytes. */
  body: string;
  /** The key and body, for retries without an `Idempotency-Key`. */
  attempt: string;
}

/** Fingerprints of a submission by one API key. */
export function fingerprintOf(path: string, raw: Buffer, key: KeyConfig): Fingerprint {
  const body = createHash('sha256').update(path).update('\0').update(raw).digest('hex');
  return { body, attempt: `${key.id}:${body}` };
}

/**
 * The `Idempotency-Key` of a request (contract section 2), kept apart by user.
 * @throws GatewayError `invalid_parameter` for one that is too long.
 */
export function idempotencyOf(
  req: IncomingMessage,
  { user, fingerprint }: { user: string; fingerprint: Fingerprint },
): Submission['idempotency'] {
  const sent = req.headers['idempotency-key'];
  if (typeof sent !== 'string' || sent === '') return undefined;
  if (sent.length > MAX_KEY) {
    const param = 'Idempotency-Key';
    throw new GatewayError('invalid_parameter', `${param}: at most ${MAX_KEY} characters.`, { param });
  }
  const key = createHash('sha256').update(user).update('\0').update(sent).digest('hex');
  return { key, fingerprint: fingerprint.body, ttlMs: IDEMPOTENCY_TTL_MS };
}

/** Whether an official SDK sent this request before: they retry by themselves, without an `Idempotency-Key`. */
export function isRetry(req: IncomingMessage): boolean {
  const count = req.headers['x-stainless-retry-count'];
  return typeof count === 'string' && /^[1-9]\d*$/.test(count);
}

/** Which run the last submission of a key and body became, for two minutes. A refused one became none that is there. */
export class Retries {
  readonly #runs: Cache<RunId>;

  constructor(caches: Caches) {
    this.#runs = caches.open({
      namespace: 'retries',
      ttlMs: RETRY_TTL_MS,
      parse: (value) => (typeof value === 'string' ? value : undefined),
      maxBytes: 4 * 1024 ** 2,
    });
  }

  find(fingerprint: Fingerprint): Promise<RunId | undefined> {
    return this.#runs.get(fingerprint.attempt);
  }

  remember(fingerprint: Fingerprint, run: RunId): Promise<void> {
    return this.#runs.set(fingerprint.attempt, run);
  }
}
