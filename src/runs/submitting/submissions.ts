import type { Clock } from '../../base/clock.ts';
import { GatewayError, shuttingDown } from '../../base/errors.ts';
import { newRunId, type RunId } from '../../base/ids.ts';
import type { CredentialCipher } from '../../base/secrets/encrypt.ts';
import { inSpan } from '../../base/telemetry/spans.ts';
import {
  type Claim,
  type CreateResult,
  type KeyHolder,
  type LogBatch,
  type NewRun,
  type RunStore,
  recordOf,
  type SubmissionKey,
} from '../../store/run-store.ts';
import type { DeliveryStore } from '../../store/side-stores/delivery-store.ts';
import type { Conversations } from '../conversations.ts';
import type { Cancels } from '../executing/cancels.ts';
import type { Executor, Room } from '../executing/executor.ts';
import type { CarriedTranscripts } from '../stored/carried-transcripts.ts';
import { rememberRequest, storedRequest } from '../stored/stored-request.ts';
import type { Caller, JoinedConversation, RepeatKey, Submission, SubmissionResult } from '../submission.ts';
import { newRun } from './new-run.ts';
import { TakenSlots } from './taken-slots.ts';

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
  /** Remembers runs whose end must be delivered to webhooks; without it, nobody is notified. */
  deliveries?: Pick<DeliveryStore, 'schedule'>;
  /** Whether a key has a webhook for the end of its background work. */
  keyHasWebhook?(keyId: string): boolean;
}

/** How many runs with the same body can be recognised when they are retried; beyond that, a retry is a new run. */
const MAX_TWINS = 4;

/** Error codes of a conversation that another run holds by now, or that is gone. */
const CONVERSATION_LOST: ReadonlySet<string> = new Set(['conversation_locked', 'not_found']);

/** When a run's delivery is checked if nobody reported its end, in milliseconds. */
const DELIVERY_CHECK_MS = 60_000;

/** How long the queue is assumed to stay empty, in milliseconds, which saves counting it for each submission. */
const EMPTY_QUEUE_MS = 100;

/** Stores submitted runs, and finds the run that a repeated submission became (docs/api.md, "In general"). */
export class Submissions {
  readonly #options: SubmissionsOptions;
  /** Submissions that are being stored, by the hash of their repeat key: a repeat waits for their outcome. */
  readonly #inFlight = new Map<string, Promise<unknown>>();
  readonly #takenSlots: TakenSlots;
  /** API keys that were admitted although too many runs wait, until their run is stored. */
  readonly #admittedBeyond = new Set<string>();
  /** When this process last knew that no run was waiting for room, by `performance.now()`. */
  #noneWaitingAt = Number.NEGATIVE_INFINITY;

  constructor(options: SubmissionsOptions) {
    this.#options = options;
    this.#takenSlots = new TakenSlots(options.clock);
  }

  /** Call after a run was deleted: the slot of its submission is free again. */
  deleted(): void {
    this.#takenSlots.forget();
  }

  /** See `Runs.submit`. */
  async submit(submission: Submission): Promise<SubmissionResult> {
    const { repeat } = submission;
    if (!repeat) return await this.#create(submission);
    if (repeat.sentBefore) {
      for (let other = this.#inFlight.get(repeat.hash); other; other = this.#inFlight.get(repeat.hash)) await other;
    }
    const work = this.#findOrCreate(submission, repeat);
    const before = this.#inFlight.get(repeat.hash);
    const settled = Promise.allSettled([before, work]);
    this.#inFlight.set(repeat.hash, settled);
    try {
      return await work;
    } finally {
      if (this.#inFlight.get(repeat.hash) === settled) this.#inFlight.delete(repeat.hash);
    }
  }

  async #findOrCreate(submission: Submission, repeat: RepeatKey): Promise<SubmissionResult> {
    return (await this.findRepeated(repeat, submission.caller)) ?? (await this.#create(submission));
  }

  /** See `Runs.findRepeated`. */
  async findRepeated(repeat: RepeatKey, caller: Caller): Promise<SubmissionResult | undefined> {
    const holder = repeat.sentBefore ? await this.#latest(repeat, caller) : undefined;
    return holder && replayed(holder, repeat);
  }

  /** The latest submission that this may be a repeat of. */
  async #latest(repeat: RepeatKey, { user }: Caller): Promise<KeyHolder | undefined> {
    const found = await Promise.all(slotsOf(repeat).map((slot) => this.#options.store.findKey([slot])));
    // Keys of version 1 did not include the user.
    const holders = found.flatMap((holder) => (holder && (holder.run?.user ?? user) === user ? [holder] : []));
    return holders.reduce<KeyHolder | undefined>(
      (latest, holder) => (latest?.run && createdAt(holder) < createdAt(latest) ? latest : holder),
      undefined,
    );
  }

  async #create(submission: Submission): Promise<SubmissionResult> {
    const { clock, retentionMs, executor, cipherOf } = this.#options;
    const id = newRunId();
    const isChat = submission.api === 'chat_completions';
    using place = await this.#reservePlace(submission.caller.keyId);
    const roomNow = 'begin' in place ? place : undefined;
    using later = !roomNow && isChat ? executor.takeRoom({ later: true }) : undefined;
    const room = roomNow ?? later;
    // It begins here, where its connection is, or never.
    if (isChat && !room) throw shuttingDown();
    const held = (await submission.admit?.(id, { waits: !roomNow })) ?? {};
    const cipher = cipherOf(submission.caller.keyId);
    if (!cipher) throw new GatewayError('invalid_api_key', 'The API key is no longer known.');
    const notifies = await this.#expectDelivery(id, submission);
    const stored = storedRequest(submission, { cipher, held, notifies });
    const created = newRun(id, submission, { now: clock.now(), retentionMs, request: JSON.stringify(stored) });
    const { conversation, request } = submission;
    if (request.kind === 'research') await this.#options.carried.join(request, id);
    if (conversation) await this.#options.conversations.hold(conversation, id);
    const { result, run } = await this.#store({ ...created.run, ...(room && { claim: room.claim }) }, submission);
    if (typeof result === 'object' && 'taken' in result && submission.repeat) {
      if (conversation) await this.#options.conversations.release(conversation, id);
      return replayed(result.taken, submission.repeat);
    }
    if (conversation) await this.#confirmHold(conversation, id);
    if (room && typeof result === 'object' && 'token' in result) {
      const record = recordOf(run);
      rememberRequest(record, stored);
      const claim: Claim = { run: record, token: result.token, attempts: 1, ...(run.keys && { keys: run.keys }) };
      room.begin(claim, { batch: firstBatch(run), response: created.response });
    } else executor.wake(id);
    return { run: recordOf(run), replayed: false, beginning: firstBatch(run) };
  }

  /** If the conversation went to another run meanwhile, removes this one. @throws GatewayError `conversation_locked`. */
  async #confirmHold(conversation: JoinedConversation, id: RunId): Promise<void> {
    try {
      await this.#options.conversations.hold(conversation, id);
    } catch (thrown) {
      // The store is away: as far as we know, the run still has its conversation.
      if (!(thrown instanceof GatewayError) || !CONVERSATION_LOST.has(thrown.code)) return;
      const { store } = this.#options;
      // Another instance may drive the run, or even have ended it.
      const run = await store.get(id);
      if (run && run.endedAt !== null) return;
      await store.requestCancel(id);
      await store.delete(id);
      this.#takenSlots.forget();
      throw thrown;
    }
  }

  /** Whether webhooks are notified of the run's end. The store learns it before the run exists, so no end is missed. */
  async #expectDelivery(id: RunId, { background, webhook, caller }: Submission): Promise<boolean> {
    const { deliveries, keyHasWebhook } = this.#options;
    if (!background || !deliveries || !(webhook || keyHasWebhook?.(caller.keyId))) return false;
    await deliveries.schedule(id, { dueInMs: DELIVERY_CHECK_MS });
    return true;
  }

  /** Stores the run under the first free slot of its repeat key. */
  async #store(run: NewRun, { api, repeat }: Submission): Promise<{ result: CreateResult; run: NewRun }> {
    const { store, cancels } = this.#options;
    const isNew = repeat?.kind === 'retry' && !repeat.sentBefore;
    const slots = repeat ? slotsOf(repeat).filter((slot) => !isNew || !this.#takenSlots.has(slot)) : [];
    try {
      for (;;) {
        const slot = slots.shift();
        const keyed = slot ? { ...run, keys: [slot] } : run;
        const result = await inSpan({ name: 'store create' }, () => store.create(keyed));
        const holder = typeof result === 'object' && 'taken' in result ? result.taken : undefined;
        if (slot && isNew) this.#takenSlots.add(slot, holder?.run?.endedAt ?? null);
        // Two submissions of one body, neither marked as a repeat, are two runs.
        if (!holder || !isNew) return { result, run: keyed };
      }
    } catch (thrown) {
      // It may have been stored despite the error; then nobody would read it and nobody could stop it.
      if (api === 'chat_completions') cancels.defer(run.id);
      throw thrown;
    }
  }

  /**
   * Room to begin a run here at once, or else a place in the queue; hold it until the run is stored. Nobody is overtaken:
   * if runs wait, or did a moment ago, this one waits too. However many wait, a key that has none waiting is admitted:
   * one run for each key beyond `maxQueued`, unless that is 0 (docs/api.md, "In general").
   * @throws GatewayError `overloaded` if too many wait.
   */
  async #reservePlace(keyId: string): Promise<Room | Disposable> {
    const { store, maxQueued, executor } = this.#options;
    const early = performance.now() - this.#noneWaitingAt < EMPTY_QUEUE_MS ? executor.takeRoom() : undefined;
    if (early) return early;
    const queued = (await store.countOpen()).queued + executor.waiting;
    if (queued >= maxQueued() || (queued > 0 && executor.overloaded)) return await this.#reserveBeyondLimit(keyId);
    const room = queued === 0 ? executor.takeRoom() : undefined;
    this.#noneWaitingAt = room ? performance.now() : Number.NEGATIVE_INFINITY;
    return room ?? { [Symbol.dispose]() {} };
  }

  /** A place beyond `maxQueued`, for a key that has no other run waiting. */
  async #reserveBeyondLimit(keyId: string): Promise<Disposable> {
    const { store, executor, maxQueued } = this.#options;
    const refusal = () =>
      new GatewayError('overloaded', 'Too many runs are waiting. Try again later.', { retryAfterMs: 5000 });
    // Of several that arrive at the same time only one is the first.
    if (this.#admittedBeyond.has(keyId) || maxQueued() === 0) throw refusal();
    this.#admittedBeyond.add(keyId);
    const place = { [Symbol.dispose]: () => void this.#admittedBeyond.delete(keyId) };
    try {
      if ((await store.countQueued(keyId)) + executor.waitingOf(keyId) > 0) throw refusal();
      return place;
    } catch (thrown) {
      place[Symbol.dispose]();
      throw thrown;
    }
  }
}

/** The store keys under which a submission may be found. */
function slotsOf({ sentBefore: _, ...key }: RepeatKey): SubmissionKey[] {
  if (key.kind === 'idempotency') return [key];
  return Array.from({ length: MAX_TWINS }, (_, slot) => ({ ...key, hash: `${key.hash}${slot}` }));
}

function createdAt({ run }: KeyHolder): number {
  return run?.createdAt ?? 0;
}

/** @throws GatewayError `idempotency_key_reused`, `not_found` if the run was deleted. */
function replayed({ run, fingerprint }: KeyHolder, repeat: RepeatKey): SubmissionResult {
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
