import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../base/clock.ts';
import { messageOf } from '../../../base/errors.ts';
import { encodeTexts } from '../../../base/json-bytes.ts';
import type { Logger } from '../../../base/logger.ts';
import type { UnnumberedEvent } from '../../../protocol/events.ts';
import { logprobSize } from '../../../protocol/items.ts';
import type { AppendBatch, AppendResult, RunStore } from '../../../store/run-store.ts';
import type { ResponseFold } from '../../reading/response-fold.ts';
import { ClaimLostError, type RunLease } from '../run-lease.ts';
import { storeSpans } from '../run-span.ts';
import type { AppendTick } from './append-tick.ts';
import { AppendedBatches } from './appended-batches.ts';
import { deltaFrame, eventFrame, type PendingDelta, payloadTexts } from './event-frames.ts';
import { EventTimes } from './event-times.ts';

/** How many characters may wait to be appended before the writer asks its source to stop. */
const MAX_BACKLOG = 1024 * 1024;
/** A store that takes longer than this to answer stops the source too, in milliseconds. */
const SILENT_MS = 2000;
/** How many times an append may find the log shortened before the writer gives up. */
const MAX_REFUSALS = 20;
/** Pauses between retries of an append whose outcome is unknown, in milliseconds. */
const RETRY_MS = { first: 50, max: 2000 } as const;

export interface LogWriterOptions {
  store: Pick<RunStore, 'append'>;
  /** Is cancelled when a cancel was accepted, and lost when nothing more can be written. */
  lease: RunLease;
  /** Sequence number of the last event in the log. */
  last: number;
  /** How many entries the transcript has. */
  entries: number;
  /** How long the store may be away before the claim is dropped, in milliseconds. */
  graceMs: number;
  log: Logger;
  clock: Clock;
  /** When to append; shared by the runs of this process. */
  tick: AppendTick;
  /** Gets every event once it is stored. */
  fold?: ResponseFold;
  /**
   * Tries to get the run back when the store no longer knows its owner. Resolves to the last event that the store has
   * then, or to undefined if another owner has the run. Absent: the run is lost.
   */
  regain?(appended: AppendedBatches): Promise<number | undefined>;
  /** Whether no failover can lose an acknowledged append, so that none has to be retained here. */
  isDurable?: boolean;
}

interface PendingEvent {
  type: string;
  event: UnnumberedEvent;
  /** See `payloadTexts`. */
  rest: readonly string[];
}

/**
 * Writes the log of one claimed run. One append is in flight at a time, the next one takes everything that piled up
 * meanwhile (docs/architecture.md, "The executor"). Events are serialised when they are pushed and numbered when their
 * batch is cut; a batch whose outcome is unknown is retried with the same bytes.
 */
export class LogWriter {
  readonly #options: LogWriterOptions;
  readonly #appended = new AppendedBatches();
  readonly #times = new EventTimes();
  readonly #inSpan = storeSpans();
  #pending: (PendingEvent | PendingDelta)[] = [];
  #transcript: string[] = [];
  /** The transcript entries of the batch in flight, without times. */
  #cutEntries: readonly string[] = [];
  /** Whether one of the waiting entries finishes a step. */
  #progress = false;
  #end: AppendBatch['end'];
  #backlog = 0;
  #last: number;
  #entries: number;
  #flushing: Promise<void> | undefined;
  #appendStartedAt: number | undefined;
  #lost: ClaimLostError | undefined;
  #cancelledAtEnd = false;
  /** Whether the terminal event is stored: the run no longer has a claim, and needs none. */
  #ended = false;
  #rechecking = false;
  /** How many times the batch in flight was refused because the log had become shorter. */
  #refusals = 0;
  /** How many waiting events came before those of the end; see `beginEnd`. */
  #beforeEnd = 0;

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#last = options.last;
    this.#entries = options.entries;
  }

  push(event: UnnumberedEvent): void {
    const { type, ...payload } = event;
    const rest = payloadTexts(payload);
    this.#pending.push({ type, event, rest });
    this.#grow(rest.reduce((sum, text) => sum + text.length, 0));
  }

  /** Adds text to an item; joined with a delta of the same item that still waits. */
  pushDelta(delta: PendingDelta): void {
    const previous = this.#joinableDelta(delta);
    const { logprobs } = delta;
    if (!previous) this.#pending.push({ ...delta, ...(logprobs && { logprobs: [...logprobs] }) });
    else {
      previous.delta += delta.delta;
      if (previous.logprobs && logprobs) previous.logprobs.push(...logprobs);
      else if (logprobs) previous.logprobs = [...logprobs];
    }
    this.#grow(delta.delta.length + logprobSize(logprobs ?? []));
  }

  /** The waiting delta that this one can be joined with. Reasoning shown as text and as a summary has two that wait. */
  #joinableDelta({ itemId, type }: PendingDelta): PendingDelta | undefined {
    for (const index of [-1, -2]) {
      const previous = this.#pending.at(index);
      if (!previous || !('delta' in previous) || previous.itemId !== itemId) return undefined;
      if (previous.type === type) return previous;
    }
    return undefined;
  }

  /** Adds a transcript entry to the batch of the events that it belongs to. `progress`: it finishes a step. */
  pushTranscript(entry: unknown, { progress }: { progress: boolean }): void {
    const text = JSON.stringify(entry);
    this.#transcript.push(text);
    this.#progress ||= progress;
    this.#grow(text.length);
  }

  /** Whether the source should stop until `ready`. */
  get congested(): boolean {
    const isSilent = this.#appendStartedAt !== undefined && performance.now() - this.#appendStartedAt > SILENT_MS;
    return this.#backlog > MAX_BACKLOG || isSilent;
  }

  /** Resolves when the writer is no longer congested. @throws ClaimLostError */
  async ready(): Promise<void> {
    if (this.#lost) throw this.#lost;
    if (this.congested) await this.flush();
  }

  /** Resolves when everything pushed so far is stored. @throws ClaimLostError */
  async flush(): Promise<void> {
    await this.#flushing;
    if (this.#lost) throw this.#lost;
  }

  /** Everything pushed from here on belongs to the end; `end` must follow without an await in between. */
  beginEnd(): void {
    this.#beforeEnd = this.#pending.length;
  }

  /**
   * Appends the terminal event in one batch with everything that waits. `cancelled`: a cancel was accepted first, so nothing
   * since `beginEnd` was written and the run must end as cancelled.
   * @throws ClaimLostError
   */
  async end(event: UnnumberedEvent, end: NonNullable<AppendBatch['end']>): Promise<'ended' | 'cancelled'> {
    this.#end = end;
    this.push(event);
    await this.flush();
    const cancelled = this.#cancelledAtEnd;
    this.#cancelledAtEnd = false;
    return cancelled ? 'cancelled' : 'ended';
  }

  /**
   * Makes an empty append to find out whether the run still belongs to this owner, and gets it back if possible. True for a
   * run that this owner has ended: the claim may have been reported gone before the append of the end was acknowledged.
   */
  async recheck(): Promise<boolean> {
    this.#rechecking = true;
    this.#flushing ??= this.#flushAll();
    await this.#flushing;
    return !this.#lost;
  }

  #grow(length: number): void {
    this.#backlog += length;
    this.#flushing ??= this.#flushAll();
  }

  async #flushAll(): Promise<void> {
    try {
      while (
        !this.#lost &&
        !this.#ended &&
        (this.#pending.length > 0 || this.#transcript.length > 0 || this.#rechecking)
      ) {
        this.#rechecking = false;
        await this.#options.tick.next(this);
        const events = this.#pending;
        const batch = this.#cutBatch();
        const answer = await this.#append(batch);
        if (this.#accept(batch, answer)) this.#updateFold(events);
        else this.#requeue(events.slice(0, this.#beforeEnd));
      }
    } catch (thrown) {
      this.#lose(thrown instanceof ClaimLostError ? thrown : new ClaimLostError(messageOf(thrown), { cause: thrown }));
    } finally {
      this.#flushing = undefined;
    }
  }

  /** After a refused end: puts back what was pushed before `beginEnd`, to be written without the end. */
  #requeue(events: readonly (PendingEvent | PendingDelta)[]): void {
    this.#pending.unshift(...events);
    this.#transcript.unshift(...this.#cutEntries);
  }

  #updateFold(events: readonly (PendingEvent | PendingDelta)[]): void {
    const { fold } = this.#options;
    if (!fold) return;
    for (const pending of events) {
      if ('delta' in pending) fold.addText(pending.outputIndex, pending);
      else fold.add(pending.event);
    }
  }

  #cutBatch(): AppendBatch {
    const first = this.#last + 1;
    const texts: string[] = [];
    let number = first;
    for (const pending of this.#pending) {
      if ('delta' in pending) texts.push(deltaFrame(pending, number++));
      else for (const text of eventFrame(pending, number++)) texts.push(text);
    }
    if (this.#pending.length + this.#transcript.length > 0) this.#times.note(number - 1, this.#options.clock.now());
    const transcript = this.#times.attachTo(this.#transcript);
    const batch: AppendBatch = {
      token: this.#options.lease.token,
      first,
      count: this.#pending.length,
      frames: encodeTexts(texts),
      ...(transcript.length > 0 ? { transcript, entriesBefore: this.#entries } : {}),
      ...(this.#progress ? { progress: true } : {}),
      ...(this.#end ? { end: this.#end } : {}),
    };
    this.#pending = [];
    this.#cutEntries = this.#transcript;
    this.#transcript = [];
    this.#progress = false;
    this.#end = undefined;
    this.#backlog = 0;
    return batch;
  }

  /** Appends a batch, with retries. */
  async #append(batch: AppendBatch): Promise<AppendResult> {
    const { store, lease } = this.#options;
    this.#appendStartedAt = performance.now();
    try {
      return await this.#onAnswer(batch, await this.#inSpan(batch, () => store.append(lease.run.id, batch)));
    } catch (thrown) {
      return await this.#retry(batch, thrown);
    }
  }

  /** Recovers from a failover that lost appends, the claim, or the whole run. */
  async #onAnswer(batch: AppendBatch, answer: AppendResult): Promise<AppendResult> {
    if (answer.result === 'gap') return await this.#resend(batch, answer.last);
    if (answer.result === 'fenced' || answer.result === 'missing') {
      const last = await this.#options.regain?.(this.#appended);
      return last === undefined ? answer : await this.#resend(batch, last);
    }
    this.#appendStartedAt = undefined;
    this.#refusals = 0;
    return answer;
  }

  /** Sends appends again that were acknowledged and then lost by a failover, then this one. */
  async #resend(batch: AppendBatch, last: number): Promise<AppendResult> {
    const { lease, log } = this.#options;
    const { token } = lease;
    const before = batch.first - 1;
    const lost = this.#appended.from(last + 1, before) ?? (last === before ? [] : undefined);
    if (!lost || this.#refusals++ > MAX_REFUSALS)
      throw new ClaimLostError(`the log ends at ${last}, before what can be sent again`);
    if (lost.length > 0) log.warn({ run: lease.run.id, last }, 'the store lost appends, sending them again');
    for (const earlier of lost) expectAppended(await this.#append({ ...earlier, token }));
    return await this.#append({ ...batch, token });
  }

  /** Retries an append whose outcome is unknown, with the same bytes, until the store answers. */
  async #retry(batch: AppendBatch, firstError: unknown): Promise<AppendResult> {
    const { store, lease, graceMs, log } = this.#options;
    if (firstError instanceof ClaimLostError) throw firstError;
    const startedAt = this.#appendStartedAt ?? performance.now();
    let lastError = firstError;
    for (let pause: number = RETRY_MS.first; ; pause = Math.min(pause * 2, RETRY_MS.max)) {
      if (performance.now() - startedAt > graceMs || lease.leaving) {
        throw new ClaimLostError('the store stayed away', { cause: lastError });
      }
      log.warn({ run: lease.run.id, err: messageOf(lastError) }, 'append failed, repeating it');
      await delay(pause);
      try {
        return await this.#onAnswer(batch, await store.append(lease.run.id, batch));
      } catch (thrown) {
        if (thrown instanceof ClaimLostError) throw thrown;
        lastError = thrown;
      }
    }
  }

  /** Whether the batch was written; an end is not if a cancel was accepted first. @throws ClaimLostError */
  #accept(batch: AppendBatch, answer: AppendResult): boolean {
    if (answer.result === 'cancelled') {
      this.#cancelledAtEnd = true;
      return false;
    }
    const { cancel } = expectAppended(answer);
    this.#last = batch.first + batch.count - 1;
    this.#entries = (batch.entriesBefore ?? this.#entries) + (batch.transcript?.length ?? 0);
    this.#cutEntries = [];
    this.#ended = batch.end !== undefined;
    if (!this.#options.isDurable && (batch.count > 0 || batch.transcript)) this.#appended.add(batch);
    if (cancel) this.#options.lease.cancel();
    return true;
  }

  #lose(reason: ClaimLostError): void {
    this.#lost = reason;
    this.#pending = [];
    this.#transcript = [];
    this.#options.lease.lose(reason);
  }
}

/** Narrows the answer to a successful append. @throws ClaimLostError if it was refused. */
function expectAppended(answer: AppendResult): Extract<AppendResult, { result: 'ok' | 'duplicate' }> {
  if (answer.result === 'ok' || answer.result === 'duplicate') return answer;
  throw new ClaimLostError(`the log refused an append: ${answer.result}`);
}
