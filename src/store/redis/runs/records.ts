import { randomUUID } from 'node:crypto';
import { sleep } from '../../../base/abort.ts';
import type { RunId } from '../../../base/ids.ts';
import { unavailable } from '../../failure.ts';
import type { Claim, CreateResult, FencingToken, LostRun, NewRun, RunRecord, SubmissionKey } from '../../run-store.ts';
import { newToken } from '../../token.ts';
import { RedisPart, type RedisParts } from '../part.ts';
import {
  claimReply,
  FACT_FIELDS,
  type Facts,
  pairsOf,
  parseFacts,
  parseKeys,
  parseRecordFields,
  parseRecordHash,
  RECORD_FIELDS,
} from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';
import type { Indexes } from './indexes.ts';
import type { RedisLists } from './lists.ts';
import type { RedisSubmissionKeys } from './submission-keys.ts';
import type { WaitingRuns } from './waiting.ts';

/** Submissions of one key that come at once settle who is first within this many looks. */
const MOST_CREATIONS = 20;
const OVERTAKEN_PAUSE_MS = 50;
/** An owner that missed the deletion of its run has noticed it by then, in milliseconds. */
const DELETED_MS = 3_600_000;

const STORED_OF_KEYS = ['kind', 'hash', 'fingerprint', 'ttlMs'];

/** What came of an attempt to claim a run. */
export type ClaimOutcome =
  | { outcome: 'claimed'; claim: Claim }
  | { outcome: 'held'; until: number }
  | { outcome: 'missing' | 'ended' };

/** A claim that is written together with its run. */
interface WrittenClaim {
  leaseMs: number;
  fields: Readonly<Record<string, string>>;
}

interface RecordParts extends RedisParts {
  indexes: Indexes;
  lists: RedisLists;
  submissions: RedisSubmissionKeys;
  waiting: WaitingRuns;
}

/** Records and claims, as hashes. */
export class RedisRecords extends RedisPart {
  readonly #parts: RecordParts;

  constructor(parts: RecordParts) {
    super(parts);
    this.#parts = parts;
  }

  /** See `RunStore.create`; a claim that it is created with ends at `until`, and the indexes do not know of it yet. */
  async create(
    run: NewRun,
  ): Promise<Exclude<CreateResult, { token: FencingToken }> | { token: FencingToken; until: number }> {
    const { keys = [] } = run;
    const claimed = run.claim && firstClaim(run, run.claim);
    for (let tries = 0; tries < MOST_CREATIONS; tries++) {
      const holder = await this.#parts.submissions.take(run, keys);
      if (holder) return { taken: holder };
      const created = await this.#announceAndWrite(run, keys, claimed);
      if (created === 1) return 'created';
      if (claimed && typeof created === 'string') return { token: claimed.fields.token, until: Number(created) };
      await this.#correctIndexes(run);
      if (created === 0) return 'exists';
      // Another submission of a key took this one's place, and is about to say so where the key stands.
      await sleep(OVERTAKEN_PAUSE_MS);
    }
    throw unavailable('this submission took too long and was given up');
  }

  /** One server keeps the order of commands; a cluster is waited for, since a run that is in no index is found by nobody. */
  async #announceAndWrite(run: NewRun, keys: readonly SubmissionKey[], claimed?: WrittenClaim): Promise<unknown> {
    const announced = this.#parts.indexes.announce(run);
    if (this.redis.sharded) await announced;
    const [position, created] = await Promise.all([announced, this.#write(run, keys, claimed)]);
    // It is stored, and in a set of open ones: a sweep enters it where this fails.
    if (created === 1) await this.#parts.waiting.enter(run, position).catch(() => {});
    return created;
  }

  /** See `RunStore.restore`. Keys that became another run's meanwhile stay with that. */
  async restore(run: LostRun): Promise<'restored' | 'exists'> {
    const { keys = [], token, startedAt, cancelRequested } = run;
    for (const key of keys) await this.#parts.submissions.take(run, [key]);
    const claimed = {
      status: 'in_progress',
      token,
      claims: `${Number.parseInt(token, 10)}`,
      startedAt: `${startedAt ?? ''}`,
      cancelRequested: cancelRequested ? '1' : '0',
    };
    const reply = await this.#write(run, keys, { leaseMs: run.leaseMs, fields: claimed });
    if (typeof reply !== 'string') return 'exists';
    await this.#parts.indexes.announce(run);
    await this.#parts.indexes.markClaimed(run.id, Number(reply));
    return 'restored';
  }

  #write(run: NewRun, keys: readonly SubmissionKey[], claimed?: WrittenClaim): Promise<unknown> {
    const { id, frames, frameCount } = run;
    const lasting = keys.filter((key) => key.kind === 'idempotency').map((key) => key.ttlMs);
    return this.script(
      SCRIPTS.create,
      [this.keys.run(id), this.keys.log(id), this.keys.gone(id)],
      [
        this.keys.changes,
        id,
        `${frameCount}`,
        Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength),
        this.now(),
        keys.length > 0 ? JSON.stringify(keys, STORED_OF_KEYS) : '',
        lasting.length > 0 ? `${Math.max(...lasting)}` : '',
        `${claimed?.leaseMs ?? ''}`,
        ...toFields(run, { ...claimed?.fields, ...(this.awaitsReplicas && { shown: '0' }) }),
      ],
    );
  }

  /** The run was there before, or cannot be any more: what was announced may not be so. */
  async #correctIndexes(run: NewRun): Promise<void> {
    const known = await this.get(run.id);
    if (!known) return await this.#parts.indexes.remove(run, { model: run.model, status: 'queued' });
    if (known.user !== run.user || known.api !== run.api || known.model !== run.model) {
      await this.#parts.lists.remove(run, { model: run.model, status: 'queued' });
    }
    if (known.status !== 'queued') await this.#parts.indexes.leaveQueue(run.id);
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
    const run = parseRecordHash(fields);
    if (!run) return { outcome: 'missing' };
    await Promise.all([this.#parts.indexes.markClaimed(id, until), this.#parts.waiting.leave(id)]);
    const keys = completeKeys(parseKeys(new Map(pairsOf(fields)).get('keys') ?? null));
    return { outcome: 'claimed', claim: { run, token, attempts, ...(keys.length > 0 && { keys }) } };
  }

  async facts(id: RunId): Promise<Facts | undefined> {
    return parseFacts(await this.command('HMGET', this.keys.run(id), ...FACT_FIELDS));
  }

  /** Puts a run that is not open any more where it belongs in the indexes. */
  async indexEnd(id: RunId): Promise<void> {
    const facts = await this.facts(id);
    if (facts?.endedAt == null) await this.#parts.indexes.close(id);
    else await this.markEnded(id, facts);
  }

  async markEnded(id: RunId, facts: Facts): Promise<void> {
    await Promise.all([
      this.#parts.indexes.markEnded(id, facts),
      this.#parts.submissions.runEnded(id, parseKeys(facts.keys)),
    ]);
  }

  /** Removes what belongs to a run; what it was where there was one. Subscribers get `notice`. */
  async remove(id: RunId, notice: string): Promise<Facts | undefined> {
    const of = this.keys;
    const keys = [of.run(id), of.log(id), of.transcript(id), of.compressed(id), of.gone(id)];
    const reply = await this.script(SCRIPTS.delete, keys, [of.live(id), notice, this.now(), `${DELETED_MS}`]);
    const facts = parseFacts(reply);
    if (facts) await this.#parts.submissions.runRemoved(id, parseKeys(facts.keys));
    if (facts?.status === 'queued') await this.#parts.waiting.leave(id);
    return facts;
  }
}

/** Those that can be taken again: the first versions did not keep the fingerprint with the run. */
function completeKeys(keys: ReturnType<typeof parseKeys>): SubmissionKey[] {
  return keys.flatMap(({ fingerprint, ...key }) => (fingerprint === undefined ? [] : [{ ...key, fingerprint }]));
}

/** What stands in the record of a run that is claimed with its creation. */
function firstClaim({ createdAt }: NewRun, { leaseMs }: { leaseMs: number }) {
  const token = newToken(1);
  return { leaseMs, fields: { status: 'in_progress', startedAt: `${createdAt}`, token, claims: '1', attempts: '1' } };
}

/** A new run's hash: fields and values in turn. */
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
