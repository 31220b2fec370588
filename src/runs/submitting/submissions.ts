import type { Clock } from '../../base/clock.ts';
import { GatewayError } from '../../base/errors.ts';
import { newRunId, type RunId } from '../../base/ids.ts';
import type { CredentialCipher } from '../../base/secrets/encrypt.ts';
import { inSpan } from '../../base/telemetry/spans.ts';
import type { DeliveryStore } from '../../store/beside/delivery-store.ts';
import type {
  Claim,
  CreateResult,
  KeyHolder,
  LogBatch,
  NewRun,
  RunRecord,
  RunStore,
  SubmissionKey,
} from '../../store/run-store.ts';
import type { Conversations } from '../conversations.ts';
import type { Cancels } from '../executing/cancels.ts';
import type { Executor, Reservation } from '../executing/executor.ts';
import type { Caller, JoinedConversation, RepeatKey, Submission, Submitted } from '../runs.ts';
import type { CarriedTranscripts } from '../stored/carried-transcripts.ts';
import { rememberRequest, storedRequest } from '../stored/stored-request.ts';
import { newRun } from './new-run.ts';
import { TakenPlaces } from './taken-places.ts';

export interface SubmissionsOptions {
  store: RunStore;
  executor: Executor;
  cancels: Cancels;
  conversations: Conversations;
  carried: CarriedTranscripts;
  clock: Clock;
  maxQueued(): number;
  retentionMs: number;
  /** What encrypts the credentials of an API key's requests; undefined once the key is removed. */
  cipherOf(keyId: string): CredentialCipher | undefined;
  /** What remembers runs whose end is told; nobody is told without it. */
  deliveries?: Pick<DeliveryStore, 'expect'>;
  /** Whether the end of a key's background work is told. */
  keyTells?(keyId: string): boolean;
}

/** Open runs of the same body whose retries can be told from new submissions; further ones have no such memory. */
const TWINS = 4;

/** What a conversation answers that is another run's by now, or gone. */
const LOST: ReadonlySet<string> = new Set(['conversation_locked', 'not_found']);

/** When it is looked for the end of a run that is told, in milliseconds, should nobody say that it has ended. */
const DELIVERY_LOOK_MS = 60_000;

/** How long it is believed that no run waits, in milliseconds: the store need not count them for each submission. */
const MOMENT_MS = 100;

/** Stores submitted runs, and finds the run that a repeated submission became (docs/api.md, "In general"). */
export class Submissions {
  readonly #options: SubmissionsOptions;
  /** Submissions that are being stored, by the hash of their key: a repeat waits to learn what became of them. */
  readonly #underWay = new Map<string, Promise<unknown>>();
  readonly #taken: TakenPlaces;
  /** Keys that were let in although too many runs wait, until their run is stored. */
  readonly #letIn = new Set<string>();
  /** When no run waited for room, that this process knows of, by `performance.now()`. */
  #noneWaitedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SubmissionsOptions) {
    this.#options = options;
    this.#taken = new TakenPlaces(options.clock);
  }

  /** Tells that a run was deleted: what it was submitted as is free again. */
  deleted(): void {
    this.#taken.forget();
  }

  /** See `Runs.submit`. */
  async submit(submission: Submission): Promise<Submitted> {
    const { repeat } = submission;
    if (!repeat) return await this.#create(submission);
    if (repeat.sentBefore) {
      for (let first = this.#underWay.get(repeat.hash); first; first = this.#underWay.get(repeat.hash)) await first;
    }
    const work = this.#findOrCreate(submission, repeat);
    const before = this.#underWay.get(repeat.hash);
    const settled = Promise.allSettled([before, work]);
    this.#underWay.set(repeat.hash, settled);
    try {
      return await work;
    } finally {
      if (this.#underWay.get(repeat.hash) === settled) this.#underWay.delete(repeat.hash);
    }
  }

  async #findOrCreate(submission: Submission, repeat: RepeatKey): Promise<Submitted> {
    const holder = repeat.sentBefore ? await this.#latest(repeat, submission.caller) : undefined;
    return holder ? replayed(holder, repeat) : await this.#create(submission);
  }

  /** The last of the submissions that this may be a repeat of. */
  async #latest(repeat: RepeatKey, { user }: Caller): Promise<KeyHolder | undefined> {
    const found = await Promise.all(placesOf(repeat).map((place) => this.#options.store.findKey([place])));
    // Version 1 named them without their user.
    const holders = found.flatMap((holder) => (holder && (holder.run?.user ?? user) === user ? [holder] : []));
    return holders.reduce<KeyHolder | undefined>(
      (latest, holder) => (latest?.run && createdAt(holder) < createdAt(latest) ? latest : holder),
      undefined,
    );
  }

  async #create(submission: Submission): Promise<Submitted> {
    const { clock, retentionMs, executor, cipherOf } = this.#options;
    const id = newRunId();
    const isChat = submission.api === 'chat_completions';
    using place = await this.#place(submission.caller.keyId);
    const roomNow = 'begin' in place ? place : undefined;
    using later = !roomNow && isChat ? executor.reserve({ later: true }) : undefined;
    const room = roomNow ?? later;
    const held = (await submission.admit?.(id, { waits: !roomNow })) ?? {};
    const cipher = cipherOf(submission.caller.keyId);
    if (!cipher) throw new GatewayError('invalid_api_key', 'The API key is no longer known.');
    const tells = await this.#expectDelivery(id, submission);
    const stored = storedRequest(submission, { cipher, held, tells });
    const made = newRun(id, submission, { now: clock.now(), retentionMs, request: JSON.stringify(stored) });
    const { conversation, request } = submission;
    if (request.kind === 'research') await this.#options.carried.join(request, id);
    if (conversation) await this.#options.conversations.hold(conversation, id);
    const { result, run } = await this.#store({ ...made.run, ...(room && { claim: room.claim }) }, submission);
    if (typeof result === 'object' && 'taken' in result && submission.repeat) {
      if (conversation) await this.#options.conversations.letGo(conversation, id);
      return replayed(result.taken, submission.repeat);
    }
    if (conversation) await this.#holdStill(conversation, id);
    if (room && typeof result === 'object' && 'token' in result) {
      const record: RunRecord = { ...recordOf(run), status: 'in_progress', startedAt: run.createdAt };
      rememberRequest(record, stored);
      const claim: Claim = { run: record, token: result.token, attempts: 1, ...(run.keys && { keys: run.keys }) };
      room.begin(claim, { batch: firstBatch(run), response: made.response });
    } else executor.wake(id);
    return { run: recordOf(run), replayed: false, beginning: firstBatch(run) };
  }

  /** Where the conversation went to another run meanwhile, this one is none. @throws GatewayError `conversation_locked`. */
  async #holdStill(conversation: JoinedConversation, id: RunId): Promise<void> {
    try {
      await this.#options.conversations.hold(conversation, id);
    } catch (thrown) {
      // The store is away for a moment: as far as is known the run has its conversation still.
      if (!(thrown instanceof GatewayError) || !LOST.has(thrown.code)) return;
      const { store } = this.#options;
      // Another instance may have come to its end already, or may drive it.
      const run = await store.get(id);
      if (run && run.endedAt !== null) return;
      await store.requestCancel(id);
      await store.delete(id);
      this.#taken.forget();
      throw thrown;
    }
  }

  /** Whether its end is told. The store knows before there is a run: none can end unheard. */
  async #expectDelivery(id: RunId, { background, webhook, caller }: Submission): Promise<boolean> {
    const { deliveries, keyTells } = this.#options;
    if (!background || !deliveries || !(webhook || keyTells?.(caller.keyId))) return false;
    await deliveries.expect(id, { dueInMs: DELIVERY_LOOK_MS });
    return true;
  }

  /** Stores the run, with the place among its twins that it got. */
  async #store(run: NewRun, { api, repeat }: Submission): Promise<{ result: CreateResult; run: NewRun }> {
    const { store, cancels } = this.#options;
    const isNew = repeat?.kind === 'retry' && !repeat.sentBefore;
    const places = repeat ? placesOf(repeat).filter((place) => !isNew || !this.#taken.has(place)) : [];
    try {
      for (;;) {
        const place = places.shift();
        const placed = place ? { ...run, keys: [place] } : run;
        const result = await inSpan({ name: 'store create' }, () => store.create(placed));
        const holder = typeof result === 'object' && 'taken' in result ? result.taken : undefined;
        if (place && isNew) this.#taken.add(place, holder?.run?.endedAt ?? null);
        // Two submissions of one body that nobody calls a repeat are two runs.
        if (!holder || !isNew) return { result, run: placed };
      }
    } catch (thrown) {
      // It may have been stored all the same: nobody would read it and nobody could stop it.
      if (api === 'chat_completions') cancels.defer(run.id);
      throw thrown;
    }
  }

  /**
   * Room to begin a run here at once, or else a place among those that wait, until disposed: by then it is stored.
   * Nobody is overtaken: where runs wait, or did a moment ago, this one does, too. However many wait, a key of which
   * none does is let in: one run for each key beyond `maxQueued`, unless that is 0 (docs/api.md, "In general").
   * @throws GatewayError `overloaded` where too many wait.
   */
  async #place(keyId: string): Promise<Reservation | Disposable> {
    const { store, maxQueued, executor } = this.#options;
    const known = performance.now() - this.#noneWaitedAt < MOMENT_MS ? executor.reserve() : undefined;
    if (known) return known;
    const queued = (await store.countOpen()).queued + executor.waiting;
    if (queued >= maxQueued() || (queued > 0 && executor.overloaded)) return await this.#placeBeyond(keyId);
    const room = queued === 0 ? executor.reserve() : undefined;
    this.#noneWaitedAt = room ? performance.now() : Number.NEGATIVE_INFINITY;
    return room ?? { [Symbol.dispose]() {} };
  }

  /** A place for the only run of a key that waits. */
  async #placeBeyond(keyId: string): Promise<Disposable> {
    const { store, executor, maxQueued } = this.#options;
    const refusal = () =>
      new GatewayError('overloaded', 'Too many runs are waiting. Try again later.', { retryAfterMs: 5000 });
    // Of several that come at once only one is the first.
    if (this.#letIn.has(keyId) || maxQueued() === 0) throw refusal();
    this.#letIn.add(keyId);
    const place = { [Symbol.dispose]: () => void this.#letIn.delete(keyId) };
    try {
      if ((await store.countQueued(keyId)) + executor.waitingOf(keyId) > 0) throw refusal();
      return place;
    } catch (thrown) {
      place[Symbol.dispose]();
      throw thrown;
    }
  }
}

/** The keys under which a submission may stand. */
function placesOf({ sentBefore: _, ...key }: RepeatKey): SubmissionKey[] {
  if (key.kind === 'idempotency') return [key];
  return Array.from({ length: TWINS }, (_, place) => ({ ...key, hash: `${key.hash}${place}` }));
}

function createdAt({ run }: KeyHolder): number {
  return run?.createdAt ?? 0;
}

/** @throws GatewayError `idempotency_key_reused`, `not_found` where the run was deleted. */
function replayed({ run, fingerprint }: KeyHolder, repeat: RepeatKey): Submitted {
  if (fingerprint !== repeat.fingerprint) {
    const message = 'This Idempotency-Key was used with another body. Use a new key.';
    throw new GatewayError('idempotency_key_reused', message);
  }
  if (!run) throw new GatewayError('not_found', 'What was submitted with this Idempotency-Key was deleted.');
  return { run, replayed: true };
}

/** The log of a run that was just stored. */
function firstBatch({ frames, frameCount }: NewRun): LogBatch {
  return { first: 1, last: frameCount, frames, end: false };
}

/** The record of a run that was just stored. */
function recordOf({ frames: _, frameCount, keys: __, claim: ___, ...run }: NewRun): RunRecord {
  return { ...run, status: 'queued', startedAt: null, endedAt: null, cancelRequested: false, last: frameCount };
}
