import { z } from 'zod';
import { sleep } from '../../../base/abort.ts';
import type { RunId } from '../../../base/ids.ts';
import { parseJson } from '../../../base/json.ts';
import type { KeyHolder, NewRun, SubmissionKey, SubmissionKeyName } from '../../run-store.ts';
import { RedisPart } from '../part.ts';
import { keyRunReply, maybePairReply, maybeText, pairReply, parseKeys, parseRecordHash } from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';

/** How long another submission's run is waited for that holds a key and is not there yet, in milliseconds. */
const IN_THE_MAKING_MS = 1000;
const LOOK_MS = 25;
/** For how long a run that was given up cannot be created any more; no create is under way for so long. */
const REPLACED_MS = 3_600_000;
/** A key stays this much longer than its run, should nobody come to remove it. */
const SLACK_MS = 24 * 3_600_000;

const VERSION_1_MS = 120_000;
const cachedRun = z.object({ value: z.string() });

/** What the hash of a run says of a key. */
type StoredKey = Pick<SubmissionKey, 'kind' | 'hash' | 'ttlMs'>;

/**
 * Keys of submissions; see `SubmissionKey`. A key lies in another slot than its run, so both cannot be written in one
 * step. Yet there is never a second run for a key: it is taken for a run's id first, then the run is created. Whoever
 * finds a key whose run is not there waits a moment; then it makes sure, in the run's slot, that this run can never be
 * created, and takes the key over. A creator that was overtaken learns it, and finds the new holder.
 */
export class RedisSubmissionKeys extends RedisPart {
  /** Takes all keys for a run that is about to be created, or none; then the holder of the first that is taken. */
  async take(run: NewRun, keys: readonly SubmissionKey[]): Promise<KeyHolder | undefined> {
    for (const key of keys) {
      const ruledOut = new Set<RunId>();
      for (const place of this.#placesOf(key)) {
        const holder = await this.#takeOne(run, key, { place, ruledOut });
        if (!holder) continue;
        await this.giveBack(run.id, keys);
        return holder;
      }
    }
    return undefined;
  }

  /**
   * Where a key stands. Instances of the first version, which may share the data, know another place alone, and that for
   * idempotency keys: both are taken and looked at, so that neither makes a second run.
   */
  #placesOf(key: SubmissionKeyName): string[] {
    const own = this.keys.submission(key);
    return key.kind === 'idempotency' ? [own, this.keys.reservation(key)] : [own];
  }

  /** Runs that turn out never to have been created are added to `ruledOut`; what they hold is free. */
  async #takeOne(
    run: NewRun,
    key: SubmissionKey,
    { place, ruledOut }: { place: string; ruledOut: Set<RunId> },
  ): Promise<KeyHolder | undefined> {
    const { kind, fingerprint, ttlMs } = key;
    const retry = kind === 'retry';
    const keptMs = Math.max(1, retry ? run.expiresAt - run.createdAt + SLACK_MS : ttlMs);
    const isFormer = place !== this.keys.submission(key);
    let replaced = '';
    let seen = '';
    let until = 0;
    for (;;) {
      const args = [this.now(), run.id, fingerprint, retry ? '' : `${ttlMs}`, `${keptMs}`, replaced];
      const reply = await this.script(SCRIPTS.takeKey, [place], args);
      const [runId, earlier] = pairReply.parse(reply);
      if (runId === run.id) return undefined;
      if (runId !== seen) until = performance.now() + IN_THE_MAKING_MS;
      seen = runId;
      replaced = ruledOut.has(runId) ? runId : '';
      if (replaced) continue;
      const replace = performance.now() > until;
      const found = await this.#runOf({ kind, ttlMs }, runId, { replace: replace && !isFormer });
      if (typeof found === 'object') return { kind, fingerprint: earlier, runId, run: found.run };
      // The first version neither says that a run was deleted nor can be kept from creating it.
      if (replace && isFormer) return { kind, fingerprint: earlier, runId, run: undefined };
      // A key whose time is over, or whose run went without it, is free; so is one whose run was just ruled out.
      if (found === 'over' || replace) ruledOut.add(runId);
      else await sleep(LOOK_MS);
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

  /** Version 1 kept in its cache, for two minutes, which run an API key and a body became. */
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

  /** How long a run's key holds, as the run says. */
  async #ttlOf(key: SubmissionKeyName, id: RunId): Promise<number> {
    if (key.kind === 'idempotency') return 0;
    const text = await this.command('HGET', this.keys.run(id), 'keys');
    const stored = parseKeys(typeof text === 'string' ? text : null);
    return stored.find((each) => each.kind === key.kind && each.hash === key.hash)?.ttlMs ?? 0;
  }

  async #runOf(
    key: Pick<SubmissionKey, 'kind' | 'ttlMs'>,
    id: RunId,
    { replace }: { replace: boolean },
  ): Promise<Pick<KeyHolder, 'run'> | 'over' | 'missing'> {
    const args = [this.now(), key.kind === 'retry' ? `${key.ttlMs}` : '', replace ? `${REPLACED_MS}` : '0'];
    const keys = [this.keys.run(id), this.keys.gone(id)];
    const reply = keyRunReply.parse(await this.script(SCRIPTS.keyRun, keys, args));
    if (reply[0] === 'held') return { run: parseRecordHash(reply[1]) };
    if (reply[0] !== 'deleted') return reply[0];
    // The memory of retries goes with the run.
    return key.kind === 'idempotency' ? { run: undefined } : 'over';
  }

  /** The run was not created, or is gone: its keys are free, but for those that stand for a deleted run. */
  async giveBack(id: RunId, keys: readonly SubmissionKeyName[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#leave(id, key, 0)));
  }

  /** The run has ended: keys that hold for a time after the end need not be kept longer. */
  async runEnded(id: RunId, keys: readonly StoredKey[]): Promise<void> {
    await Promise.all(keys.filter(isRetry).map((key) => this.#leave(id, key, Math.max(1, key.ttlMs))));
  }

  async runRemoved(id: RunId, keys: readonly StoredKey[]): Promise<void> {
    await this.giveBack(id, keys.filter(isRetry));
  }

  async #leave(id: RunId, key: SubmissionKeyName, keptMs: number): Promise<void> {
    const places = this.#placesOf(key);
    await Promise.all(places.map((place) => this.script(SCRIPTS.leaveKey, [place], [id, `${keptMs}`])));
  }
}

function isRetry(key: Pick<SubmissionKey, 'kind'>): boolean {
  return key.kind === 'retry';
}
