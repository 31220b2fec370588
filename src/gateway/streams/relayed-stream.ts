import type { JsonObject } from '../../base/json.ts';
import { type AttemptFailure, brokenStream, gatewayErrorOf, MAX_FRAME } from '../../upstream/provider-answer.ts';
import type { AnswerHead } from '../../upstream/provider-target.ts';
import { ChoiceTracker } from '../answer-kind.ts';
import { streamHeaders } from '../answers/answer-headers.ts';
import { BufferedBytes } from '../answers/buffered-bytes.ts';
import { lastReportedUsage } from '../answers/reported-usage.ts';
import { Tail } from '../answers/tail.ts';
import { isForClient } from '../answers/whole-answer.ts';
import type { RelayContext } from '../attempt-context.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from '../attempt-result.ts';
import { ClientWriter } from '../client-writer.ts';
import {
  DONE_WINDOW,
  endsWithDone,
  endsWithDoneText,
  endsWithLongEvent,
  findFlaw,
  framesOf,
  hasBareReturn,
  holdsPayload,
  LF,
  lastPayloads,
  MAX_MULTILINE_FRAME,
  payloadsIn,
  replaceReturns,
  TOO_MANY_VALUES,
  withoutLineEnd,
} from './frames.ts';
import { StreamEndFinder } from './last-event.ts';
import { unsentFailurePayloads, usageAtEnd, weightAtEnd } from './stream-end.ts';
import { StreamOpening } from './stream-opening.ts';

/** Max. bytes buffered before the first content: two events may repeat a long request. A longer event counts as content. */
const MAX_OPENING = 4 * 1024 * 1024;
/** The longest stream, in bytes: beyond it an answer does not end. */
const MAX_STREAM = 256 * 1024 * 1024;
const MALFORMED = 'malformed JSON in the stream';
const ENDED_EARLY = 'the stream ended before the answer did';
/** The most malformed frames that are dropped from one stream. */
const MAX_SKIPPED = 3;
/** The most comments that are held back, in bytes. */
const MAX_BUFFERED_COMMENTS = 16 * 1024;
/** How long the line end of a last event may take, in milliseconds. */
const LINE_END_MS = 1000;
/** How many events are read when a stream ends. */
const LAST_EVENTS = 8;

/**
 * Relays a stream of events to the client, unchanged and in whole lines, as it arrives. Everything before the first
 * content is buffered, because until then another provider can be called. A stream that breaks off later ends with an
 * error that the official SDKs throw on (docs/failover.md, "Until when").
 */
export class RelayedStream implements ResultReceiver {
  readonly gathers = true;
  readonly #head: AnswerHead;
  readonly #control: ResultControl;
  readonly #context: RelayContext;
  readonly #writer: ClientWriter;
  readonly #tail = new Tail();
  readonly #openedAt = performance.now();
  /** Chunks of this turn of the event loop, which are handled together. */
  #chunks: Buffer[] = [];
  /** An unfinished line, or everything before the first content. */
  readonly #buffered = new BufferedBytes();
  readonly #opening: StreamOpening;
  #receivedBytes = 0;
  /** Whether a malformed frame was dropped and no sound one has followed. */
  #isFlawed = false;
  #skipped = 0;
  #isThinking = false;
  #first: JsonObject | undefined;
  /** Whether an event has reported the end of the answer. */
  #hasEnd = false;
  readonly #finder: StreamEndFinder;
  /** Set when several choices were requested. */
  #choices: ChoiceTracker | undefined;
  /** Whether lines end with a carriage return alone. */
  #usesBareReturns = false;

  constructor(head: AnswerHead, control: ResultControl, context: RelayContext) {
    this.#head = head;
    this.#control = control;
    this.#context = context;
    this.#writer = new ClientWriter(context.client, control);
    this.#opening = new StreamOpening(context);
    this.#finder = new StreamEndFinder(context.kind.lastEvent);
  }

  data(chunk: Buffer): void {
    this.#chunks.push(chunk);
    if (this.#chunks.length > 1) return;
    this.#control.soon(() => {
      const result = this.#flush();
      if (result) this.#control.finish(result, { endsSoon: !('failure' in result) });
    });
  }

  end(): AttemptResult {
    return this.#flush() ?? this.#flushLastLine() ?? this.#conclude();
  }

  broken(failure: AttemptFailure): AttemptResult {
    return this.#flush() ?? (this.#buffersDone ? this.#flushLastLine() : undefined) ?? this.#conclude(failure);
  }

  /** Whether the unfinished line is a `[DONE]` whose line end has not come. */
  get #buffersDone(): boolean {
    return this.#first !== undefined && this.#buffered.length <= DONE_WINDOW && endsWithDone(this.#buffered.bytes);
  }

  #flush(): AttemptResult | undefined {
    if (this.#chunks.length === 0) return undefined;
    const [only] = this.#chunks;
    const received = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#receivedBytes += received.length;
    if (this.#receivedBytes > MAX_STREAM) return this.#fail(brokenStream('the answer does not end'));
    if (this.#usesBareReturns) replaceReturns(received);
    let hasLine = received.includes(LF);
    if (!hasLine || this.#buffered.length > 0) this.#buffered.push(received);
    if (!hasLine && !this.#first) hasLine = this.#detectReturns(received.length);
    if (this.#buffered.length > (this.#first ? MAX_FRAME : MAX_OPENING)) {
      const mayGoOn = !this.#first && endsWithLongEvent(this.#buffered.bytes);
      if (!mayGoOn) return this.#fail(brokenStream('a frame is too long'));
      if (!hasLine) this.#start(this.#opening.startWithLongEvent());
    }
    const relay = () => (this.#first ? this.#relayLines(received) : this.#open(received));
    const result = hasLine ? relay() : undefined;
    if (!result && this.#buffersDone) this.#control.started(LINE_END_MS);
    return result;
  }

  #relayLines(received: Buffer): AttemptResult | undefined {
    const bytes = this.#buffered.length > 0 ? this.#buffered.take() : received;
    const linesEnd = bytes.lastIndexOf(LF) + 1;
    this.#buffered.push(bytes.subarray(linesEnd));
    const lines = bytes.subarray(0, linesEnd);
    this.#mask(lines);
    return this.#relay(this.#finder.cut(lines));
  }

  /** Masks credentials, also one that the end of the last line cuts. */
  #mask(lines: Buffer): void {
    this.#context.target.mask.maskWhole(withoutLineEnd(lines));
  }

  /** Whether the buffered bytes have lines that end with a carriage return alone. Only the last `length` bytes are new. */
  #detectReturns(length: number): boolean {
    const buffered = this.#buffered.bytes;
    this.#usesBareReturns = hasBareReturn(buffered.subarray(Math.max(0, buffered.length - length - 1)));
    if (this.#usesBareReturns) replaceReturns(buffered);
    return this.#usesBareReturns;
  }

  /** Relays a last line without a line break, if it is a frame. */
  #flushLastLine(): AttemptResult | undefined {
    const { length } = this.#buffered;
    if (length === 0) return undefined;
    this.#buffered.push(Buffer.from('\n\n'));
    if (!this.#first) return this.#open();
    const line = this.#buffered.take();
    this.#mask(line);
    const lines = this.#finder.cut(line);
    return this.#relay(lines, lines.subarray(0, length));
  }

  /** Reads what has arrived before the first content: each byte once, however small the pieces are. */
  #open(received?: Buffer): AttemptResult | undefined {
    if (received && this.#buffered.length === 0) this.#buffered.push(received);
    const { bytes } = this.#buffered;
    const start = bytes.find((byte) => byte > 0x20);
    // A JSON body or an HTML page, which can be judged only at its end.
    if (start === 0x7b || start === 0x3c) return undefined;
    const lines = bytes.subarray(0, bytes.lastIndexOf(LF) + 1);
    // Masked before it is read, because an error that ends the stream repeats the first frame.
    this.#mask(lines.subarray(this.#opening.bytesRead));
    const opening = this.#opening.read(lines);
    if (opening.is === 'failed') return this.#failUnopened(opening.failure, bytes);
    if (opening.is === 'waiting') {
      this.#relayComments(lines);
      return undefined;
    }
    this.#start(opening.first);
    this.#keepAfter(lines);
    return this.#relay(this.#finder.cut(lines));
  }

  /** Buffers only what follows these lines. */
  #keepAfter(lines: Buffer): void {
    const rest = this.#buffered.take().subarray(lines.length);
    this.#buffered.push(rest);
  }

  #start(first: JsonObject): void {
    const { kind, target } = this.#context;
    this.#first = first;
    this.#context.onBegin();
    this.#isThinking = kind.textMarker !== undefined;
    this.#control.started(this.#isThinking ? target.thinkingMs : undefined);
    const choices = kind.choices?.() ?? 1;
    if (choices > 1) this.#choices = new ChoiceTracker(choices);
    this.#sendHead();
  }

  /** Fails before any content. The prompt and the thoughts of an empty answer are charged all the same. */
  #failUnopened(failure: AttemptFailure, buffered: Buffer): AttemptResult {
    const text = buffered.toString('utf8');
    const { api } = this.#context;
    const usage = this.#usageAtEnd(text).usage ?? lastReportedUsage(text, api);
    const answer = isForClient(failure) && !this.#writer.hasHead ? { ...this.#head, body: buffered } : undefined;
    return { is: 'failed', failure, ...(answer && { answer }), ...(usage && { usage }) };
  }

  /** After a while the comments of an opening are relayed, so that no proxy takes the connection for dead. */
  #relayComments(lines: Buffer): void {
    const { stream, holdMs } = this.#context.client;
    const isDue = lines.length >= MAX_BUFFERED_COMMENTS || performance.now() - this.#openedAt >= holdMs;
    // Who asked for no stream may still get JSON from the next route.
    if (!stream || !isDue || lines.length === 0 || !this.#opening.onlyComments) return;
    this.#opening.discardRead();
    this.#keepAfter(lines);
    this.#sendHead();
    this.#writer.write(lines);
  }

  #sendHead(): void {
    this.#writer.sendHead(200, streamHeaders(this.#context.target.requestId(this.#head)));
  }

  /** Checks masked `lines`, and writes `bytes` if nothing is wrong: the same without a line break that the check needs. */
  #relay(lines: Buffer, bytes = lines): AttemptResult | undefined {
    const flaw = findFlaw(lines, this.#isError);
    switch (flaw?.is) {
      case undefined:
        if (this.#isFlawed) {
          this.#isFlawed = !holdsPayload(lines);
          if (this.#isFlawed && lines.includes('[DONE]')) return this.#fail(brokenStream(MALFORMED));
        }
        return this.#writeCheckingEnd(bytes);
      case 'unfinished':
        this.#write(lines.subarray(0, flaw.start));
        if (lines.length - flaw.start > MAX_MULTILINE_FRAME) return this.#fail(brokenStream('a frame is too long'));
        this.#bufferFrame(lines.subarray(flaw.start));
        return undefined;
      case 'malformed':
        return this.#skipMalformed(lines, flaw);
      case 'unreadable':
        this.#write(lines.subarray(0, flaw.start));
        return this.#fail(brokenStream(TOO_MANY_VALUES));
      case 'payload':
        this.#write(lines.subarray(0, flaw.end));
        return this.#fail(this.#context.target.failureOfStreamError(flaw.payload), flaw.payload);
      case 'error':
        // Apps understand only frames of JSON objects, so anything else is not relayed.
        this.#write(lines.subarray(0, flaw.sent ? flaw.end : flaw.start));
        return this.#fail(this.#context.target.failureOfStreamError(flaw.payload), flaw.sent);
    }
  }

  readonly #isError = (payload: JsonObject): boolean => {
    const { kind } = this.#context;
    if (kind.isError(payload)) return true;
    this.#hasEnd ||= kind.isEnd?.(payload) ?? false;
    return false;
  };

  /** Drops a malformed frame. The stream goes on if the next frame is sound. */
  #skipMalformed(lines: Buffer, { start, end }: { start: number; end: number }): AttemptResult | undefined {
    const before = lines.subarray(0, start);
    if ((this.#isFlawed && !holdsPayload(before)) || ++this.#skipped > MAX_SKIPPED) {
      return this.#fail(brokenStream(MALFORMED));
    }
    this.#isFlawed = true;
    this.#write(before);
    return this.#relay(lines.subarray(end));
  }

  /** Buffers an unfinished frame in front of the unfinished line. */
  #bufferFrame(frame: Buffer): void {
    const rest = this.#buffered.take();
    this.#buffered.push(frame);
    this.#buffered.push(rest);
  }

  /** Writes lines, but `[DONE]` only if the answer is complete. The last event ends it: a provider may leave its body open. */
  #writeCheckingEnd(lines: Buffer): AttemptResult | undefined {
    const isDone = endsWithDone(lines);
    const isKnown = this.#hasEnd && !this.#choices;
    // Where it is not known yet, the lines before it tell.
    const sure = isDone && !isKnown ? lines.lastIndexOf('data:') : lines.length;
    this.#write(lines.subarray(0, sure));
    if (sure < lines.length) {
      if (!this.#isWhole({ inOrder: true })) return this.#fail(brokenStream(ENDED_EARLY));
      this.#write(lines.subarray(sure));
    }
    if (this.#finder.state === 'open') this.#control.started(LINE_END_MS);
    return this.#finder.state === 'closed' ? this.#conclude() : undefined;
  }

  #write(lines: Buffer): void {
    if (lines.length === 0) return;
    if (this.#isThinking && lines.includes(this.#context.kind.textMarker ?? '')) {
      this.#isThinking = false;
      this.#control.started();
    }
    if (this.#choices) for (const payload of payloadsIn(lines)) this.#choices.note(payload);
    this.#context.meter.countEvents(lines);
    this.#tail.push(lines);
    this.#writer.write(lines);
  }

  /** Ends the stream, and decides by its last events whether it is complete. `broken`: it did not end in order. */
  #conclude(broken?: AttemptFailure): AttemptResult {
    if (!this.#first) {
      const failure = broken ?? this.#opening.failureOfUnopened(this.#buffered.bytes.toString('utf8'));
      return this.#failUnopened(failure, this.#buffered.bytes);
    }
    const text = this.#tail.text();
    const isWhole = this.#isWhole({ inOrder: broken === undefined || endsWithDoneText(text) });
    if (!isWhole || this.#isFlawed) {
      return this.#fail(broken ?? brokenStream(this.#isFlawed ? MALFORMED : ENDED_EARLY));
    }
    this.#writer.end();
    return { is: 'delivered', ...this.#usageAtEnd(text) };
  }

  #isWhole({ inOrder }: { inOrder: boolean }): boolean {
    const payloads = () => lastPayloads(this.#tail.text(), LAST_EVENTS);
    return this.#context.kind.isWhole({ ended: this.#hasEnd, choices: this.#choices, payloads, inOrder });
  }

  /** Ends the stream with an error. `sent`: the provider's own error, if it was relayed. */
  #fail(failure: AttemptFailure, sent?: JsonObject): AttemptResult {
    if (!this.#first) return { is: 'failed', failure };
    const { kind, modelName, route } = this.#context;
    const error = gatewayErrorOf(modelName, [{ route, failure }]).toObject();
    const payloads = unsentFailurePayloads(kind.failure(error, this.#first), sent);
    const gap = this.#tail.endsFrame ? '' : '\n\n';
    this.#writer.end(gap + framesOf(payloads));
    return { is: 'delivered', ...this.#usageAtEnd(this.#tail.text()), failure };
  }

  #usageAtEnd(text: string) {
    const { api, meter } = this.#context;
    const reported = usageAtEnd(text, { api, first: this.#first });
    if (!reported.usage) meter.raiseDelivered(weightAtEnd(text, api));
    return reported;
  }
}
