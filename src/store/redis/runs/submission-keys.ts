import { z } from 'zod';
import { sleep } from '../../../base/abort.ts';
import type { RunId } from '../../../base/ids.ts';
import { parseJson } from '../../../base/json.ts';
import type { KeyHolder, NewRun, SubmissionKey, SubmissionKeyName } from '../../run-store.ts';
import { RedisPart } from '../part.ts';
import { keyRunReply, maybePairReply, maybeText, pairReply, parseKeys, parseRecordHash } from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';

/** How long to wait for the run of a submission that holds a key but has not created it yet, in milliseconds. */
const CREATION_WAIT_MS = 1000;
const POLL_MS = 25;
/** How long a run that was given up cannot be created, in milliseconds; no `create` takes that long. */
const TOMBSTONE_MS = 3_600_000;
/** A key outlives its run by this much, if nobody removes it. */
const EXPIRY_SLACK_MS = 24 * 3_600_000;

const VERSION_1_MS = 120_000;
const cachedRun = z.object({ value: z.string() });

/** A submission key as the hash of its run stores it. */
type StoredKey = Pick<SubmissionKey, 'kind' | 'hash' | 'ttlMs'>;

/**
 * Submission keys; see `SubmissionKey`. A key and its run are in different slots, so both cannot be written in one
 * step. Yet a key never gets a second run: first the key is taken for the id of a run, then the run is created. Whoever
 * finds a key without a run waits a moment, then ensures, in the slot of the run, that this run can never be created,
 * and takes over the key. A creator that was overtaken notices it and finds the new holder.
 */
export class RedisSubmissionKeys extends RedisPart {
  /** Takes all keys for a run that is about to be created, or none and returns the holder of the first taken one. */
  async take(run: NewRun, keys: readonly SubmissionKey[]): Promise<KeyHolder | undefined> {
    for (const key of keys) {
      const ruledOut = new Set<RunId>();
      for (const place of this.#placesOf(key)) {
        const holder = await this.#takeOne(run, key, { place, ruledOut });
        if (!holder) continue;
        await this.release(run.id, keys);
        return holder;
      }
    }
    return undefined;
  }

  /**
   * The places of a key. Instances of the first version, which may share the data, know only another place, and only
   * for idempotency keys: both places are taken and searched, so that neither version creates a second run.
   */
  #placesOf(key: SubmissionKeyName): string[] {
    const own = this.keys.submission(key);
    return key.kind === 'idempotency' ? [own, this.keys.reservation(key)] : [own];
  }

  /** Adds runs that turn out never to have been created to `ruledOut`; the keys that they hold are free. */
  async #takeOne(
    run: NewRun,
    key: SubmissionKey,
    { place, ruledOut }: { place: string; ruledOut: Set<RunId> },
  ): Promise<KeyHolder | undefined> {
    const { kind, fingerprint, ttlMs } = key;
    const isRetryKey = kind === 'retry';
    const retainMs = Math.max(1, isRetryKey ? run.expiresAt - run.createdAt + EXPIRY_SLACK_MS : ttlMs);
    const isVersion1 = place !== this.keys.submission(key);
    let replaced = '';
    let lastSeen = '';
    let until = 0;
    for (;;) {
      const args = [this.now(), run.id, fingerprint, isRetryKey ? '' : `${ttlMs}`, `${retainMs}`, replaced];
      const reply = await this.script(SCRIPTS.takeKey, [place], args);
      const [runId, holderFingerprint] = pairReply.parse(reply);
      if (runId === run.id) return undefined;
      if (runId !== lastSeen) until = performance.now() + CREATION_WAIT_MS;
      lastSeen = runId;
      replaced = ruledOut.has(runId) ? runId : '';
      if (replaced) continue;
      const isOverdue = performance.now() > until;
      const found = await this.#runOf({ kind, ttlMs }, runId, { replace: isOverdue && !isVersion1 });
      if (typeof found === 'object') return { kind, fingerprint: holderFingerprint, runId, run: found.run };
      // The first version does not record that a run was deleted, and cannot be kept from creating it.
      if (isOverdue && isVersion1) return { kind, fingerprint: holderFingerprint, runId, run: undefined };
      // A key is free if it has expired, its run was removed without it, or its run was just ruled out.
      if (found === 'over' || isOverdue) ruledOut.add(runId);
      else await sleep(POLL_MS);
    }
  }

  async find(keys: readonly SubmissionKeyName[]): Promise<KeyHolder | undefined> {
    for (const key of keys) {
      for (const place of this.#placesOf(key)) {
        const holder = await this.#findOne(key, place);
        if (holder) return holder;
      }
      const holder = key.nameInVersion1 && (await this.#findInVersion1(key.nameInVersion1));
      if (holder) return holder;
    }
    return undefined;
  }

  /** For two minutes, version 1 caches which run an API key and a body became. */
  async #findInVersion1(name: string): Promise<KeyHolder | undefined> {
    const text = maybeText.parse(await this.command('GET', `${this.keys.cache('retries')}::${name}`));
    const { data } = cachedRun.safeParse(parseJson(text ?? ''));
    if (!data) return undefined;
    const found = await this.#runOf({ kind: 'retry', ttlMs: VERSION_1_MS }, data.value, { replace: false });
    if (typeof found !== 'object') return undefined;
    return { kind: 'retry', fingerprint: name.slice(name.lastIndexOf(':') + 1), runId: data.value, run: found.run };
  }

  async #findOne(key: SubmissionKeyName, place: string): Promise<KeyHolder | undefined> {
    const reply = await this.script(SCRIPTS.findKey, [place], [this.now()]);
    const holder = maybePairReply.parse(reply);
    if (!holder) return undefined;
    const [runId, fingerprint] = holder;
    const ttlMs = await this.#ttlOf(key, runId);
    const found = await this.#runOf({ kind: key.kind, ttlMs }, runId, { replace: false });
    return typeof found === 'object' ? { kind: key.kind, fingerprint, runId, run: found.run } : undefined;
  }

  /** How long a key holds, as the hash of its run says. */
  async #ttlOf(key: SubmissionKeyName, id: RunId): Promise<number> {
    if (key.kind === 'idempotency') return 0;
    const text = await this.command('HGET', this.keys.run(id), 'keys');
    const stored = parseKeys(typeof text === 'string' ? text : null);
    return stored.find((candidate) => candidate.kind === key.kind && candidate.hash === key.hash)?.ttlMs ?? 0;
  }

  async #runOf(
    key: Pick<SubmissionKey, 'kind' | 'ttlMs'>,
    id: RunId,
    { replace }: { replace: boolean },
  ): Promise<Pick<KeyHolder, 'run'> | 'over' | 'missing'> {
    const args = [this.now(), key.kind === 'retry' ? `${key.ttlMs}` : '', replace ? `${TOMBSTONE_MS}` : '0'];
    const keys = [this.keys.run(id), this.keys.tombstone(id)];
    const reply = keyRunReply.parse(await this.script(SCRIPTS.keyRun, keys, args));
    if (reply[0] === 'held') return { run: parseRecordHash(reply[1]) };
    if (reply[0] !== 'deleted') return reply[0];
    // A `retry` key ends with its run.
    return key.kind === 'idempotency' ? { run: undefined } : 'over';
  }

  /** Frees the keys of a run that was not created, or is gone. */
  async release(id: RunId, keys: readonly SubmissionKeyName[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#releaseOne(id, key, 0)));
  }

  /** Shortens `retry` keys to their time after the end of the run. */
  async onRunEnded(id: RunId, keys: readonly StoredKey[]): Promise<void> {
    await Promise.all(keys.filter(isRetry).map((key) => this.#releaseOne(id, key, Math.max(1, key.ttlMs))));
  }

  async onRunRemoved(id: RunId, keys: readonly StoredKey[]): Promise<void> {
    await this.release(id, keys.filter(isRetry));
  }

  async #releaseOne(id: RunId, key: SubmissionKeyName, retainMs: number): Promise<void> {
    const places = this.#placesOf(key);
    await Promise.all(places.map((place) => this.script(SCRIPTS.releaseKey, [place], [id, `${retainMs}`])));
  }
}

function isRetry(key: Pick<SubmissionKey, 'kind'>): boolean {
  return key.kind === 'retry';
}
