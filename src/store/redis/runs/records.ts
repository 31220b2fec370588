import { randomUUID } from 'node:crypto';
import { sleep } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import type { RunId } from '../../../base/ids.ts';
import type { Logger } from '../../../base/logger.ts';
import { storeUnavailable } from '../../failure.ts';
import type { Claim, CreateResult, FencingToken, LostRun, NewRun, RunRecord, SubmissionKey } from '../../run-store.ts';
import { newToken } from '../../token.ts';
import { RedisPart, type RedisParts } from '../part.ts';
import {
  claimReply,
  FACT_FIELDS,
  pairsOf,
  parseFacts,
  parseKeys,
  parseRecordFields,
  parseRecordHash,
  RECORD_FIELDS,
  type RunFacts,
} from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';
import type { RedisIndexes } from './indexes.ts';
import type { RedisLists } from './lists.ts';
import type { RedisSubmissionKeys } from './submission-keys.ts';
import type { WaitingRuns } from './waiting.ts';

/** Concurrent submissions of one key settle who is first within this many attempts. */
const MAX_CREATE_ATTEMPTS = 20;
const OVERTAKEN_PAUSE_MS = 50;
/** By then an owner that missed the deletion of its run has noticed it, in milliseconds. */
const TOMBSTONE_MS = 3_600_000;

const STORED_KEY_FIELDS = ['kind', 'hash', 'fingerprint', 'ttlMs'];

/** The outcome of an attempt to claim a run. */
export type ClaimOutcome =
  | { outcome: 'claimed'; claim: Claim }
  | { outcome: 'held'; until: number }
  | { outcome: 'missing' | 'ended' };

/** A claim that is written together with its run. */
interface InitialClaim {
  leaseMs: number;
  fields: Readonly<Record<string, string>>;
}

interface RecordParts extends RedisParts {
  indexes: RedisIndexes;
  lists: RedisLists;
  submissions: RedisSubmissionKeys;
  waiting: WaitingRuns;
  log: Logger;
}

/** Records and claims of runs, as hashes. */
export class RedisRecords extends RedisPart {
  readonly #parts: RecordParts;

  constructor(parts: RecordParts) {
    super(parts);
    this.#parts = parts;
  }

  /** See `RunStore.create`. `until`: the end of the first claim, which the indexes do not have yet. */
  async create(
    run: NewRun,
  ): Promise<Exclude<CreateResult, { token: FencingToken }> | { token: FencingToken; until: number }> {
    const { keys = [] } = run;
    const claimed = run.claim && firstClaim(run, run.claim);
    for (let tries = 0; tries < MAX_CREATE_ATTEMPTS; tries++) {
      const holder = await this.#parts.submissions.take(run, keys);
      if (holder) return { taken: holder };
      const created = await this.#indexAndWrite(run, keys, claimed);
      if (created === 1) return 'created';
      if (claimed && typeof created === 'string') return { token: claimed.fields.token, until: Number(created) };
      await this.#correctIndexes(run);
      if (created === 0) return 'exists';
      // Another submission replaced this one, and is about to take the key.
      await sleep(OVERTAKEN_PAUSE_MS);
    }
    throw storeUnavailable('this submission took too long and was given up');
  }

  /** A single server keeps the order of commands. A cluster is waited for: nobody finds a run that is in no index. */
  async #indexAndWrite(run: NewRun, keys: readonly SubmissionKey[], claimed?: InitialClaim): Promise<unknown> {
    const indexed = this.#parts.indexes.add(run);
    if (this.redis.isSharded) await indexed;
    const [position, created] = await Promise.all([indexed, this.#write(run, keys, claimed)]);
    // The run is stored and in the set of queued runs: if this fails, a sweep enters it.
    if (created === 1) await this.#parts.waiting.enter(run, position).catch(() => {});
    return created;
  }

  /** See `RunStore.restore`. Keys that another run has taken meanwhile stay with it. */
  async restore(run: LostRun): Promise<'restored' | 'exists'> {
    const { keys = [], token, startedAt, cancelRequested } = run;
    for (const key of keys) await this.#parts.submissions.take(run, [key]);
    const claimed = {
      status: 'in_progress',
      token,
      claims: `${Number.parseInt(token, 10)}`,
      startedAt: `${startedAt ?? ''}`,
      entries: `${run.transcript.length}`,
      cancelRequested: cancelRequested ? '1' : '0',
    };
    await this.#parts.indexes.add(run);
    const reply = await this.#write(run, keys, { leaseMs: run.leaseMs, fields: claimed }, run.transcript);
    if (typeof reply !== 'string') {
      await this.#correctIndexes(run);
      return 'exists';
    }
    await this.#parts.indexes.markClaimed(run.id, Number(reply));
    return 'restored';
  }

  #write(
    run: NewRun,
    keys: readonly SubmissionKey[],
    claimed?: InitialClaim,
    transcript: readonly string[] = [],
  ): Promise<unknown> {
    const { id, frames, frameCount } = run;
    const lasting = keys.filter((key) => key.kind === 'idempotency').map((key) => key.ttlMs);
    return this.script(
      SCRIPTS.create,
      [this.keys.run(id), this.keys.log(id), this.keys.tombstone(id), this.keys.transcript(id)],
      [
        this.keys.changes,
        id,
        `${frameCount}`,
        Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength),
        this.now(),
        keys.length > 0 ? JSON.stringify(keys, STORED_KEY_FIELDS) : '',
        lasting.length > 0 ? `${Math.max(...lasting)}` : '',
        `${claimed?.leaseMs ?? ''}`,
        `${transcript.length}`,
        ...transcript,
        ...toFields(run, { ...claimed?.fields, ...(this.awaitsReplicas && { shown: '0' }) }),
      ],
    );
  }

  /** Corrects the indexes of a run that existed before, or must not be created any more. */
  async #correctIndexes(run: NewRun): Promise<void> {
    const known = await this.get(run.id);
    if (!known) return await this.#parts.indexes.remove(run, { ...run, status: 'queued' });
    if (known.user !== run.user || known.api !== run.api || known.model !== run.model) {
      await this.#parts.lists.remove(run, { ...run, status: 'queued' });
    }
    if (known.status !== 'queued') await this.#parts.indexes.removeQueued(run.id);
  }

  async get(id: RunId): Promise<RunRecord | undefined> {
    return parseRecordFields(await this.command('HMGET', this.keys.run(id), ...RECORD_FIELDS));
  }

  async claim(id: RunId, options: { leaseMs: number; force: boolean }): Promise<ClaimOutcome> {
    const args = [this.now(), `${options.leaseMs}`, options.force ? '1' : '0', randomUUID()];
    const reply = claimReply.parse(await this.script(SCRIPTS.claim, [this.keys.run(id)], args));
    if (reply[0] === 'held') return { outcome: 'held', until: Number(reply[1]) };
    if (reply[0] !== 'claimed') return { outcome: reply[0] };
    const [, token, attempts, fields, until] = reply;
    let read: ReturnType<typeof recordIn>;
    try {
      read = recordIn(fields);
    } catch (thrown) {
      // It stays claimed, and out of the way of others, until somebody tries again: a newer gateway may read it.
      this.#parts.log.error({ run: id, err: messageOf(thrown) }, 'a run cannot be read, and waits');
      return { outcome: 'held', until };
    }
    const { run, keys } = read;
    if (!run) return { outcome: 'missing' };
    await Promise.all([this.#parts.indexes.markClaimed(id, until), this.#parts.waiting.leave(id)]);
    return { outcome: 'claimed', claim: { run, token, attempts, ...(keys.length > 0 && { keys }) } };
  }

  async getFacts(id: RunId): Promise<RunFacts | undefined> {
    return parseFacts(await this.command('HMGET', this.keys.run(id), ...FACT_FIELDS));
  }

  /** Moves a run that is no longer open to its place in the indexes. */
  async indexEnd(id: RunId): Promise<void> {
    const facts = await this.getFacts(id);
    if (facts?.endedAt == null) await this.#parts.indexes.removeOpen(id);
    else await this.markEnded(id, facts);
  }

  async markEnded(id: RunId, facts: RunFacts): Promise<void> {
    await Promise.all([
      this.#parts.indexes.markEnded(id, facts),
      this.#parts.submissions.onRunEnded(id, parseKeys(facts.keys)),
    ]);
  }

  /** Removes everything of a run and returns its facts; undefined if there is none. Subscribers get `notice`. */
  async remove(id: RunId, notice: string): Promise<RunFacts | undefined> {
    const names = this.keys;
    const keys = [names.run(id), names.log(id), names.transcript(id), names.compressed(id), names.tombstone(id)];
    const reply = await this.script(SCRIPTS.delete, keys, [names.live(id), notice, this.now(), `${TOMBSTONE_MS}`]);
    const facts = parseFacts(reply);
    if (facts) await this.#parts.submissions.onRunRemoved(id, parseKeys(facts.keys));
    if (facts?.status === 'queued') await this.#parts.waiting.leave(id);
    return facts;
  }
}

/** The record and the keys in the hash of a run. @throws Error for a malformed field. */
function recordIn(fields: readonly string[]) {
  const keys = completeKeys(parseKeys(new Map(pairsOf(fields)).get('keys') ?? null));
  return { run: parseRecordHash(fields), keys };
}

/** The keys that can be taken again: the first versions did not store the fingerprint with the run. */
function completeKeys(keys: ReturnType<typeof parseKeys>): SubmissionKey[] {
  return keys.flatMap(({ fingerprint, ...key }) => (fingerprint === undefined ? [] : [{ ...key, fingerprint }]));
}

function firstClaim({ createdAt }: NewRun, { leaseMs }: { leaseMs: number }) {
  const token = newToken(1);
  return { leaseMs, fields: { status: 'in_progress', startedAt: `${createdAt}`, token, claims: '1', attempts: '1' } };
}

/** The hash of a new run: fields and values in turn. */
function toFields(run: NewRun, changed: Readonly<Record<string, string>> = {}): string[] {
  const fields: Record<string, string> = {
    id: run.id,
    user: run.user,
    keyId: run.keyId,
    api: run.api,
    model: run.model,
    kind: run.kind,
    status: 'queued',
    createdAt: `${run.createdAt}`,
    startedAt: '',
    endedAt: '',
    expiresAt: `${run.expiresAt}`,
    cancelRequested: '0',
    last: `${run.frameCount}`,
    request: run.request,
    metadata: run.metadata,
    listed: run.listed,
    token: '',
    until: '0',
    claims: '0',
    attempts: '0',
    entries: '0',
    sealed: '0',
    ...changed,
  };
  return Object.entries(fields).flat();
}
