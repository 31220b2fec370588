import type { JsonObject } from '../../base/json.ts';
import { type AttemptFailure, brokenStream, gatewayErrorOf } from '../../upstream/provider-answer.ts';
import type { AnswerHead } from '../../upstream/provider-target.ts';
import { streamHeaders } from '../answers/answer-headers.ts';
import { HeldBytes } from '../answers/held-bytes.ts';
import { lastReportedUsage } from '../answers/reported-usage.ts';
import { Tail } from '../answers/tail.ts';
import { isClients } from '../answers/whole-answer.ts';
import type { PassingContext } from '../attempt-context.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from '../attempt-result.ts';
import { ClientWriter } from '../client-writer.ts';
import {
  endLines,
  endsInReturns,
  endsWithDone,
  findFlaw,
  framesOf,
  holdsPayload,
  isLineEnd,
  LF,
  LONG_FRAME,
  lastPayloads,
  MAX_SPREAD,
  payloadsIn,
  saysDone,
  TOO_MANY_VALUES,
} from './frames.ts';
import { failurePayloads, usageAtEnd, weightAtEnd } from './stream-end.ts';
import { ChoiceEnds } from './stream-kind.ts';
import { StreamOpening } from './stream-opening.ts';

/** The longest frame that is accepted, in bytes. */
const MAX_FRAME = 8 * 1024 * 1024;
/** What is held at most until the first content is there, in bytes: two events may repeat a long request. A longer event is content. */
const MAX_OPENING = 4 * 1024 * 1024;
/** The longest stream, in bytes: beyond it an answer does not end. */
const MAX_STREAM = 256 * 1024 * 1024;
const MALFORMED = 'malformed JSON in the stream';
const EARLY = 'the stream ended before the answer did';
/** Malformed frames that are left out of one stream. */
const MAX_SKIPPED = 3;
/** Comments are not held back beyond this, in bytes. */
const MAX_HELD_COMMENTS = 16 * 1024;
/** Events looked at when a stream ends. */
const LAST_EVENTS = 8;

/**
 * Passes a stream of events to the client, unchanged and as it comes, line by whole line. What comes before the first
 * content is held back: until then another provider can be asked. What breaks off after that ends with an error that
 * the official SDKs throw on (docs/failover.md, "Until when").
 */
export class RelayedStream implements ResultReceiver {
  readonly gathers = true;
  readonly #head: AnswerHead;
  readonly #control: ResultControl;
  readonly #context: PassingContext;
  readonly #writer: ClientWriter;
  readonly #tail = new Tail();
  readonly #openedAt = performance.now();
  /** Chunks of this turn of the event loop: they are looked at and written together. */
  #chunks: Buffer[] = [];
  /** The beginning of a line, or of a stream. */
  readonly #held = new HeldBytes();
  readonly #opening: StreamOpening;
  #received = 0;
  /** A malformed frame was left out and no other one came since. */
  #isFlawed = false;
  #skipped = 0;
  #mayThink = false;
  #first: JsonObject | undefined;
  /** Whether an event told of the end of its answer. */
  #ended = false;
  /** Where several choices were asked for. */
  #choices: ChoiceEnds | undefined;
  /** Whether lines end with a carriage return alone. */
  #endsInReturns = false;

  constructor(head: AnswerHead, control: ResultControl, context: PassingContext) {
    this.#head = head;
    this.#control = control;
    this.#context = context;
    this.#writer = new ClientWriter(context.client, control);
    this.#opening = new StreamOpening(context);
  }

  data(chunk: Buffer): void {
    this.#chunks.push(chunk);
    if (this.#chunks.length > 1) return;
    this.#control.soon(() => {
      const result = this.#flush();
      if (result) this.#control.finish(result);
    });
  }

  end(): AttemptResult {
    return this.#flush() ?? this.#lastLine() ?? this.#conclude();
  }

  broken(failure: AttemptFailure): AttemptResult {
    return this.#flush() ?? this.#conclude(failure);
  }

  #flush(): AttemptResult | undefined {
    if (this.#chunks.length === 0) return undefined;
    const [only] = this.#chunks;
    const came = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#received += came.length;
    if (this.#received > MAX_STREAM) return this.#fail(brokenStream('the answer does not end'));
    if (this.#endsInReturns) endLines(came);
    let isWhole = came.includes(LF);
    if (!isWhole || this.#held.length > 0) this.#held.push(came);
    if (!isWhole && !this.#first) isWhole = this.#readReturns(came.length);
    if (this.#held.length > (this.#first ? MAX_FRAME : MAX_OPENING)) {
      if (this.#first || !this.#holdsLongEvent()) return this.#fail(brokenStream('a frame is too long'));
      if (!isWhole) this.#start(this.#opening.begin());
    }
    if (!isWhole) return undefined;
    const bytes = this.#held.length > 0 ? this.#held.take() : came;
    const whole = bytes.lastIndexOf(LF) + 1;
    if (!this.#first) return this.#open(bytes, whole);
    this.#held.push(bytes.subarray(whole));
    this.#context.target.mask.apply(bytes.subarray(0, whole));
    return this.#pass(bytes.subarray(0, whole));
  }

  /** Whether what is held has lines after all; only its last `length` bytes are new. */
  #readReturns(length: number): boolean {
    const held = this.#held.bytes;
    this.#endsInReturns = endsInReturns(held.subarray(Math.max(0, held.length - length - 1)));
    if (this.#endsInReturns) endLines(held);
    return this.#endsInReturns;
  }

  /** Whether the last event that is held, which may be unfinished, is a long one. */
  #holdsLongEvent(): boolean {
    const held = this.#held.bytes;
    let end = held.length;
    while (end > 0 && isLineEnd(held[end - 1])) end--;
    const start = held.subarray(0, end).lastIndexOf(LF) + 1;
    return end - start > LONG_FRAME && held.toString('latin1', start, start + 5) === 'data:';
  }

  /** A last line without its line break counts, if it is a frame. */
  #lastLine(): AttemptResult | undefined {
    if (this.#held.length === 0) return undefined;
    const held = this.#held.take();
    // Before it is copied: the copy is what goes out up to an error.
    this.#context.target.mask.apply(held);
    const line = Buffer.concat([held, Buffer.from('\n\n')]);
    return this.#first ? this.#pass(line, held) : this.#open(line, line.length);
  }

  #open(bytes: Buffer, whole: number): AttemptResult | undefined {
    const start = bytes.find((byte) => byte > 0x20);
    // A JSON body or a page: what it means is known at its end.
    if (start === 0x7b || start === 0x3c) {
      this.#held.push(bytes);
      return undefined;
    }
    // Before it is read: an error that ends the stream repeats what its first frame says.
    this.#context.target.mask.apply(bytes.subarray(0, whole));
    const opening = this.#opening.read(bytes.subarray(0, whole));
    if (opening.is === 'failed') return this.#unopened(opening.failure, bytes);
    if (opening.is === 'waiting') {
      this.#hold(bytes, whole);
      return undefined;
    }
    this.#start(opening.first);
    this.#held.push(bytes.subarray(whole));
    return this.#pass(bytes.subarray(0, whole));
  }

  #start(first: JsonObject): void {
    const { kind, target } = this.#context;
    this.#first = first;
    this.#context.onBegin();
    this.#mayThink = kind.speaks !== undefined;
    this.#control.started(this.#mayThink ? target.thinkingMs : undefined);
    const asked = kind.choices?.() ?? 1;
    if (asked > 1) this.#choices = new ChoiceEnds(asked);
    this.#begin();
  }

  /** What was read and thought for an answer that says nothing is paid all the same. */
  #unopened(failure: AttemptFailure, held: Buffer): AttemptResult {
    const text = held.toString('utf8');
    const { api } = this.#context;
    const usage = this.#usageAtEnd(text).usage ?? lastReportedUsage(text, api);
    const answer = isClients(failure) && !this.#writer.hasHead ? { ...this.#head, body: held } : undefined;
    return { is: 'failed', failure, ...(answer && { answer }), ...(usage && { usage }) };
  }

  /** Comments pass after a while, so that nothing in between takes the connection for dead. */
  #hold(bytes: Buffer, whole: number): void {
    const isOld = whole >= MAX_HELD_COMMENTS || performance.now() - this.#openedAt >= this.#context.client.holdMs;
    if (!isOld || whole === 0 || !this.#opening.onlyComments) {
      this.#held.push(bytes);
      return;
    }
    this.#opening.forget();
    this.#held.push(bytes.subarray(whole));
    const comments = bytes.subarray(0, whole);
    this.#context.target.mask.apply(comments);
    this.#begin();
    this.#writer.write(comments);
  }

  #begin(): void {
    this.#writer.begin(200, streamHeaders(this.#context.target.requestId(this.#head)));
  }

  /**
   * `lines`: what is judged, without credentials. `bytes`: what is written if nothing is wrong, without a line break that was
   * added to judge it.
   */
  #pass(lines: Buffer, bytes = lines): AttemptResult | undefined {
    const flaw = findFlaw(lines, this.#isError);
    switch (flaw?.is) {
      case undefined:
        if (this.#isFlawed) {
          this.#isFlawed = !holdsPayload(lines);
          if (this.#isFlawed && lines.includes('[DONE]')) return this.#fail(brokenStream(MALFORMED));
        }
        return this.#writeEnd(bytes);
      case 'unfinished':
        this.#write(lines.subarray(0, flaw.start));
        if (lines.length - flaw.start > MAX_SPREAD) return this.#fail(brokenStream('a frame is too long'));
        this.#holdBack(lines.subarray(flaw.start));
        return undefined;
      case 'malformed':
        return this.#skip(lines, flaw);
      case 'unreadable':
        this.#write(lines.subarray(0, flaw.start));
        return this.#fail(brokenStream(TOO_MANY_VALUES));
      case 'payload':
        this.#write(lines.subarray(0, flaw.end));
        return this.#fail(this.#context.target.failureOfStreamError(flaw.payload), flaw.payload);
      case 'error':
        // Apps read frames of JSON objects only.
        this.#write(lines.subarray(0, flaw.said ? flaw.end : flaw.start));
        return this.#fail(this.#context.target.failureOfStreamError(flaw.payload), flaw.said);
    }
  }

  readonly #isError = (payload: JsonObject): boolean => {
    const { kind } = this.#context;
    if (kind.isError(payload)) return true;
    this.#ended ||= kind.ends?.(payload) ?? false;
    return false;
  };

  /** A malformed frame is left out if the next one is sound. */
  #skip(lines: Buffer, { start, end }: { start: number; end: number }): AttemptResult | undefined {
    const before = lines.subarray(0, start);
    if ((this.#isFlawed && !holdsPayload(before)) || ++this.#skipped > MAX_SKIPPED) {
      return this.#fail(brokenStream(MALFORMED));
    }
    this.#isFlawed = true;
    this.#write(before);
    return this.#pass(lines.subarray(end));
  }

  /** A frame that goes on in what follows: it stands before the beginning of a line that is held. */
  #holdBack(frame: Buffer): void {
    const rest = this.#held.take();
    this.#held.push(frame);
    this.#held.push(rest);
  }

  /** `[DONE]` makes an answer whole in the eyes of clients: it goes out where the answer is. */
  #writeEnd(lines: Buffer): AttemptResult | undefined {
    const isKnown = this.#ended && !this.#choices;
    if (isKnown || !this.#context.kind.ends || !endsWithDone(lines)) {
      this.#write(lines);
      return undefined;
    }
    const done = lines.lastIndexOf('data:');
    this.#write(lines.subarray(0, done));
    if (!this.#isWhole(this.#tail.text(), { inOrder: true })) return this.#fail(brokenStream(EARLY));
    this.#write(lines.subarray(done));
    return undefined;
  }

  #write(lines: Buffer): void {
    if (lines.length === 0) return;
    if (this.#mayThink && lines.includes(this.#context.kind.speaks ?? '')) {
      this.#mayThink = false;
      this.#control.started();
    }
    if (this.#choices) for (const payload of payloadsIn(lines)) this.#choices.note(payload);
    this.#context.meter.events(lines);
    this.#tail.push(lines);
    this.#writer.write(lines);
  }

  /** The stream is over; whether it is whole, its last events tell. `broken`: it did not end in order. */
  #conclude(broken?: AttemptFailure): AttemptResult {
    if (!this.#first) {
      const failure = broken ?? this.#opening.failureOfUnopened(this.#held.bytes.toString('utf8'));
      return this.#unopened(failure, this.#held.bytes);
    }
    const text = this.#tail.text();
    const isWhole = this.#isWhole(text, { inOrder: broken === undefined || saysDone(text) });
    if (!isWhole || this.#isFlawed) {
      return this.#fail(broken ?? brokenStream(this.#isFlawed ? MALFORMED : EARLY));
    }
    this.#writer.end();
    return { is: 'delivered', ...this.#usageAtEnd(text) };
  }

  /** `text`: the last events. */
  #isWhole(text: string, { inOrder }: { inOrder: boolean }): boolean {
    const payloads = () => lastPayloads(text, LAST_EVENTS);
    return this.#context.kind.isWhole({ ended: this.#ended, choices: this.#choices, payloads, inOrder });
  }

  /** Ends the stream loudly. `told`: the provider's own error, which went out. */
  #fail(failure: AttemptFailure, told?: JsonObject): AttemptResult {
    if (!this.#first) return { is: 'failed', failure };
    const { kind, modelName, route } = this.#context;
    const error = gatewayErrorOf(modelName, [{ route, failure }]).toObject();
    const payloads = failurePayloads(kind.failure(error, this.#first), told);
    const gap = this.#tail.endsFrame ? '' : '\n\n';
    this.#writer.end(gap + framesOf(payloads));
    return { is: 'delivered', ...this.#usageAtEnd(this.#tail.text()), failure };
  }

  #usageAtEnd(text: string) {
    const { api, meter } = this.#context;
    const told = usageAtEnd(text, { api, first: this.#first });
    if (!told.usage) meter.deliveredAtLeast(weightAtEnd(text, api));
    return told;
  }
}
