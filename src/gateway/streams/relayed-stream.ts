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
import { findFlaw, framesOf, holdsPayload, LF, lastPayloads, MAX_SPREAD, saysDone } from './frames.ts';
import { failurePayloads, usageAtEnd } from './stream-end.ts';
import { StreamOpening } from './stream-opening.ts';

/** The longest frame that is accepted, in bytes. */
const MAX_FRAME = 8 * 1024 * 1024;
/** What is held at most until the first content is there, in bytes: two events may repeat a long request. */
const MAX_OPENING = 4 * 1024 * 1024;
/** The longest stream, in bytes: beyond it an answer does not end. */
const MAX_STREAM = 256 * 1024 * 1024;
const MALFORMED = 'malformed JSON in the stream';
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
    const isWhole = came.includes(LF);
    if (!isWhole || this.#held.length > 0) this.#held.push(came);
    if (this.#held.length > (this.#first ? MAX_FRAME : MAX_OPENING)) {
      return this.#fail(brokenStream('a frame is too long'));
    }
    if (!isWhole) return undefined;
    const bytes = this.#held.length > 0 ? this.#held.take() : came;
    const whole = bytes.lastIndexOf(LF) + 1;
    if (!this.#first) return this.#open(bytes, whole);
    this.#held.push(bytes.subarray(whole));
    return this.#pass(bytes.subarray(0, whole));
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
    this.#first = opening.first;
    this.#context.onBegin();
    this.#mayThink = this.#context.kind.speaks !== undefined;
    this.#control.started(this.#mayThink ? this.#context.target.thinkingMs : undefined);
    this.#begin();
    this.#held.push(bytes.subarray(whole));
    return this.#pass(bytes.subarray(0, whole));
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

  /** `lines`: what is judged. `bytes`: what is written if nothing is wrong, without a line break that was added to judge it. */
  #pass(lines: Buffer, bytes = lines): AttemptResult | undefined {
    this.#context.target.mask.apply(bytes);
    const flaw = findFlaw(lines, this.#context.kind.isError);
    switch (flaw?.is) {
      case undefined:
        if (this.#isFlawed) {
          this.#isFlawed = !holdsPayload(lines);
          if (this.#isFlawed && lines.includes('[DONE]')) return this.#fail(brokenStream(MALFORMED));
        }
        this.#write(bytes);
        return undefined;
      case 'unfinished':
        this.#write(lines.subarray(0, flaw.start));
        if (lines.length - flaw.start > MAX_SPREAD) return this.#fail(brokenStream('a frame is too long'));
        this.#holdBack(lines.subarray(flaw.start));
        return undefined;
      case 'malformed':
        return this.#skip(lines, flaw);
      case 'payload':
        this.#write(lines.subarray(0, flaw.end));
        return this.#fail(this.#context.target.failureOfStreamError(flaw.payload), flaw.payload);
    }
  }

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

  #write(lines: Buffer): void {
    if (lines.length === 0) return;
    if (this.#mayThink && lines.includes(this.#context.kind.speaks ?? '')) {
      this.#mayThink = false;
      this.#control.started();
    }
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
    const isWhole = this.#context.kind.isWhole({
      done: saysDone(text) && !this.#isFlawed,
      payloads: () => lastPayloads(text, LAST_EVENTS),
      inOrder: broken === undefined,
    });
    if (!isWhole || this.#isFlawed) {
      const reason = this.#isFlawed ? MALFORMED : 'the stream ended before the answer did';
      return this.#fail(broken ?? brokenStream(reason));
    }
    this.#writer.end();
    return { is: 'delivered', ...this.#usageAtEnd(text) };
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
    return usageAtEnd(text, { api: this.#context.api, first: this.#first });
  }
}
