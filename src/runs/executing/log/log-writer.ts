import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../base/clock.ts';
import { messageOf } from '../../../base/errors.ts';
import { joinedBytes } from '../../../base/json-bytes.ts';
import type { Logger } from '../../../base/logger.ts';
import type { UnnumberedEvent } from '../../../protocol/events.ts';
import { logprobSize } from '../../../protocol/items.ts';
import type { Append, AppendResult, RunStore } from '../../../store/run-store.ts';
import type { ResponseFold } from '../../reading/response-fold.ts';
import { ClaimLostError, type RunLease } from '../run-lease.ts';
import { storeSpans } from '../run-span.ts';
import type { AppendTick } from './append-tick.ts';
import { AppendedBatches } from './appended-batches.ts';
import { deltaFrame, eventFrame, type PendingDelta, payloadTexts } from './event-frames.ts';
import { EventTimes } from './event-times.ts';

/** Bytes waiting to be appended before the writer asks its source to stop. */
const MAX_BACKLOG = 1024 * 1024;
/** A store that is silent for longer than this stops the source too, in milliseconds. */
const SILENT_MS = 2000;
/** A log that is cut so often while it is mended is given up. */
const MOST_REFUSALS = 20;
/** Pauses between repeats of an append whose outcome is unknown, in milliseconds. */
const RETRY_MS = { first: 50, most: 2000 } as const;

export interface LogWriterOptions {
  store: Pick<RunStore, 'append'>;
  /** Hears of an accepted cancel, and when nothing more can be written. */
  lease: RunLease;
  /** Sequence number of the last event in the log. */
  last: number;
  entries: number;
  /** How long a store may be away before the claim is dropped, in milliseconds. */
  graceMs: number;
  log: Logger;
  clock: Clock;
  /** When to append; shared by the runs of this process. */
  tick: AppendTick;
  /** Carried on with every event that is stored. */
  fold?: ResponseFold;
  /**
   * Gets the run back where the store does not know its owner any more: the last event that the store has then, or
   * undefined where the run is lost to another owner. Absent: it is.
   */
  regain?(appended: AppendedBatches): Promise<number | undefined>;
  /** Whether what the store has acknowledged is its own to keep: no failover takes it back, so it is not kept here. */
  losesNothing?: boolean;
}

interface PendingEvent {
  type: string;
  event: UnnumberedEvent;
  /** See `payloadTexts`. */
  rest: readonly string[];
}

/**
 * Writes the log of one claimed run: one append in flight, the next takes all that piled up (docs/architecture.md, "The
 * executor"). Events are serialised when they are pushed, numbered when a batch is cut; a batch in flight is never cut
 * again, and one whose outcome is unknown is repeated with the same bytes.
 */
export class LogWriter {
  readonly #options: LogWriterOptions;
  readonly #appended = new AppendedBatches();
  readonly #times = new EventTimes();
  readonly #inSpan = storeSpans();
  #pending: (PendingEvent | PendingDelta)[] = [];
  #transcript: string[] = [];
  /** Those of the batch in flight, as they were pushed. */
  #cutEntries: readonly string[] = [];
  /** Whether one of these entries finishes a step. */
  #progress = false;
  #end: Append['end'];
  #backlog = 0;
  #last: number;
  #entries: number;
  #flushing: Promise<void> | undefined;
  #appendBegan: number | undefined;
  #lost: ClaimLostError | undefined;
  #cancelledAtEnd = false;
  /** The terminal event is stored: the run has no claim any more, and needs none. */
  #ended = false;
  #rechecking = false;
  /** How often the batch in flight was refused although it could be written. */
  #refused = 0;
  /** How many of the waiting events came before those of the end; see `beginEnd`. */
  #beforeEnd = 0;

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#last = options.last;
    this.#entries = options.entries;
  }

  /** Adds an event. */
  push(event: UnnumberedEvent): void {
    const { type, ...payload } = event;
    const rest = payloadTexts(payload);
    this.#pending.push({ type, event, rest });
    this.#grow(rest.reduce((sum, text) => sum + text.length, 0));
  }

  /** Adds text to an item; joined with what is still waiting for the same item. */
  pushDelta(delta: PendingDelta): void {
    const previous = this.#waitingDelta(delta);
    const { logprobs } = delta;
    if (!previous) this.#pending.push({ ...delta, ...(logprobs && { logprobs: [...logprobs] }) });
    else {
      previous.delta += delta.delta;
      if (previous.logprobs && logprobs) previous.logprobs.push(...logprobs);
      else if (logprobs) previous.logprobs = [...logprobs];
    }
    this.#grow(delta.delta.length + logprobSize(logprobs ?? []));
  }

  /** What a delta can be joined with: a thought that is shown in two ways has two that wait. */
  #waitingDelta({ itemId, type }: PendingDelta): PendingDelta | undefined {
    for (const back of [-1, -2]) {
      const previous = this.#pending.at(back);
      if (!previous || !('delta' in previous) || previous.itemId !== itemId) return undefined;
      if (previous.type === type) return previous;
    }
    return undefined;
  }

  /** Adds a transcript entry to the batch of the events that show it. `progress`: it finishes a step. */
  pushTranscript(entry: unknown, { progress }: { progress: boolean }): void {
    const text = JSON.stringify(entry);
    this.#transcript.push(text);
    this.#progress ||= progress;
    this.#grow(text.length);
  }

  /** Whether the source should stop until `ready`. */
  get congested(): boolean {
    const silent = this.#appendBegan !== undefined && performance.now() - this.#appendBegan > SILENT_MS;
    return this.#backlog > MAX_BACKLOG || silent;
  }

  /** Resolves when there is room again. @throws ClaimLostError */
  async ready(): Promise<void> {
    if (this.#lost) throw this.#lost;
    if (this.congested) await this.flush();
  }

  /** Resolves when everything pushed so far is stored. @throws ClaimLostError */
  async flush(): Promise<void> {
    await this.#flushing;
    if (this.#lost) throw this.#lost;
  }

  /** What is pushed from here on belongs to the end, which `end` has to bring without waiting in between. */
  beginEnd(): void {
    this.#beforeEnd = this.#pending.length;
  }

  /**
   * Appends the terminal event in one batch with everything that waits. `cancelled`: a cancel was accepted before, nothing
   * since `beginEnd` was written and the run must be ended as cancelled.
   * @throws ClaimLostError
   */
  async end(event: UnnumberedEvent, end: NonNullable<Append['end']>): Promise<'ended' | 'cancelled'> {
    this.#end = end;
    this.push(event);
    await this.flush();
    const cancelled = this.#cancelledAtEnd;
    this.#cancelledAtEnd = false;
    return cancelled ? 'cancelled' : 'ended';
  }

  /**
   * Appends nothing, which tells whether the run is still this owner's, and gets it back where it can be. One that this
   * owner has ended is: the store may have told that its claim is gone before it told that the end is there.
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
        const batch = this.#cut();
        const answer = await this.#append(batch);
        if (this.#accept(batch, answer)) this.#carryOn(events);
        else this.#keep(events.slice(0, this.#beforeEnd));
      }
    } catch (thrown) {
      this.#lose(thrown instanceof ClaimLostError ? thrown : new ClaimLostError(messageOf(thrown), { cause: thrown }));
    } finally {
      this.#flushing = undefined;
    }
  }

  /** Of a refused end: what was there before it is written without. */
  #keep(events: readonly (PendingEvent | PendingDelta)[]): void {
    this.#pending.unshift(...events);
    this.#transcript.unshift(...this.#cutEntries);
  }

  #carryOn(events: readonly (PendingEvent | PendingDelta)[]): void {
    const { fold } = this.#options;
    if (!fold) return;
    for (const pending of events) {
      if ('delta' in pending) fold.addText(pending.outputIndex, pending);
      else fold.add(pending.event);
    }
  }

  #cut(): Append {
    const first = this.#last + 1;
    const texts: string[] = [];
    let number = first;
    for (const pending of this.#pending) {
      if ('delta' in pending) texts.push(deltaFrame(pending, number++));
      else for (const text of eventFrame(pending, number++)) texts.push(text);
    }
    if (this.#pending.length + this.#transcript.length > 0) this.#times.note(number - 1, this.#options.clock.now());
    const transcript = this.#times.giveTo(this.#transcript);
    const batch: Append = {
      token: this.#options.lease.token,
      first,
      count: this.#pending.length,
      frames: joinedBytes(texts),
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

  /** What became of a batch in the end. An append that goes well costs one promise, the store's. */
  #append(batch: Append): Promise<AppendResult> {
    const { store, lease } = this.#options;
    this.#appendBegan = performance.now();
    const append = () => store.append(lease.run.id, batch);
    return this.#inSpan(batch, append).then(this.#answered(batch), (thrown) => this.#repeat(batch, thrown));
  }

  #answered(batch: Append) {
    return (answer: AppendResult) => {
      if (answer.result === 'gap') return this.#sendAgain(batch, answer.last);
      if (answer.result === 'fenced' || answer.result === 'missing') return this.#regain(batch, answer);
      this.#appendBegan = undefined;
      this.#refused = 0;
      return answer;
    };
  }

  /** A failover may have lost the claim, or the whole run. */
  async #regain(batch: Append, answer: AppendResult): Promise<AppendResult> {
    const last = await this.#options.regain?.(this.#appended);
    return last === undefined ? answer : await this.#sendAgain(batch, last);
  }

  /** A failover lost appends that were acknowledged: they are sent again, then this one. */
  async #sendAgain(batch: Append, last: number): Promise<AppendResult> {
    const { lease, log } = this.#options;
    const { token } = lease;
    const before = batch.first - 1;
    const lost = this.#appended.from(last + 1, before) ?? (last === before ? [] : undefined);
    if (!lost || this.#refused++ > MOST_REFUSALS)
      throw new ClaimLostError(`the log ends at ${last}, before what can be sent again`);
    if (lost.length > 0) log.warn({ run: lease.run.id, last }, 'the store lost appends, sending them again');
    for (const earlier of lost) made(await this.#append({ ...earlier, token }));
    return await this.#append({ ...batch, token });
  }

  /** Repeats an append whose outcome is unknown, with the same bytes, until the store answers. */
  async #repeat(batch: Append, first: unknown): Promise<AppendResult> {
    const { store, lease, graceMs, log } = this.#options;
    const began = this.#appendBegan ?? performance.now();
    let thrown = first;
    for (let pause: number = RETRY_MS.first; ; pause = Math.min(pause * 2, RETRY_MS.most)) {
      if (performance.now() - began > graceMs || lease.leaving) {
        throw new ClaimLostError('the store stayed away', { cause: thrown });
      }
      log.warn({ run: lease.run.id, err: messageOf(thrown) }, 'append failed, repeating it');
      await delay(pause);
      try {
        return await this.#answered(batch)(await store.append(lease.run.id, batch));
      } catch (again) {
        if (again instanceof ClaimLostError) throw again;
        thrown = again;
      }
    }
  }

  /** Whether the batch is in the log: an end is not where a cancel came first. @throws ClaimLostError */
  #accept(batch: Append, answer: AppendResult): boolean {
    if (answer.result === 'cancelled') {
      this.#cancelledAtEnd = true;
      return false;
    }
    const { cancel } = made(answer);
    this.#last = batch.first + batch.count - 1;
    this.#entries = (batch.entriesBefore ?? this.#entries) + (batch.transcript?.length ?? 0);
    this.#cutEntries = [];
    this.#ended = batch.end !== undefined;
    if (!this.#options.losesNothing && (batch.count > 0 || batch.transcript)) this.#appended.add(batch);
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

/** The answer to an append that was made. @throws ClaimLostError where it was not. */
function made(answer: AppendResult): Extract<AppendResult, { result: 'ok' | 'duplicate' }> {
  if (answer.result === 'ok' || answer.result === 'duplicate') return answer;
  throw new ClaimLostError(`the log refused an append: ${answer.result}`);
}
