import { type AttemptFailure, brokenStream } from '../../upstream/provider-answer.ts';
import { type AnswerHead, MaskedBody } from '../../upstream/provider-target.ts';
import type { RelayContext } from '../attempt-context.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from '../attempt-result.ts';
import { ClientWriter } from '../client-writer.ts';
import { isJson, mediaTypeOf } from './answer-headers.ts';
import { lastReportedUsage } from './reported-usage.ts';
import { Tail } from './tail.ts';

/** The longest body, in bytes: beyond it an answer does not end. */
const MAX_BODY = 1024 * 1024 * 1024;

/** Relays a body to the client as it arrives: files, audio, long JSON. If it breaks off, so does the client's connection. */
export class RelayedBody implements ResultReceiver {
  readonly #head: AnswerHead;
  readonly #control: ResultControl;
  readonly #context: RelayContext;
  readonly #writer: ClientWriter;
  readonly #masked: MaskedBody;
  /** The end of a JSON body, which reports the usage. */
  readonly #tail = new Tail();
  readonly #type: string;
  readonly #isJson: boolean;
  #hasStarted = false;
  #received = 0;

  constructor(head: AnswerHead, control: ResultControl, context: RelayContext) {
    this.#head = head;
    this.#control = control;
    this.#context = context;
    this.#type = mediaTypeOf(head);
    this.#isJson = isJson(this.#type);
    this.#writer = new ClientWriter(context.client, control);
    this.#masked = new MaskedBody(context.target.mask);
  }

  data(chunk: Buffer): void {
    this.#received += chunk.length;
    this.#context.meter.countBytes(chunk.length);
    if (this.#received > MAX_BODY) {
      this.#control.finish(this.broken(brokenStream('the answer does not end')));
      return;
    }
    if (!this.#hasStarted) this.#control.started();
    this.#sendHead();
    this.#write(this.#masked.push(chunk));
  }

  end(): AttemptResult {
    const { api } = this.#context;
    // The transcription of a silent recording is empty, and some calls need no answer at all.
    const isOftenEmpty = this.#type.startsWith('text/') || (this.#type === '' && api !== 'audio/speech');
    const mayBeEmpty = isOftenEmpty || this.#head.status === 204;
    if (!this.#hasStarted && !mayBeEmpty) return { is: 'failed', failure: brokenStream('the answer is empty') };
    this.#sendHead();
    this.#write(this.#masked.end());
    this.#writer.end();
    return { is: 'delivered', usage: lastReportedUsage(this.#tail.text(), this.#context.api) };
  }

  broken(failure: AttemptFailure): AttemptResult {
    if (!this.#hasStarted) return { is: 'failed', failure };
    this.#writer.cut();
    return { is: 'delivered', usage: null, failure };
  }

  #write(bytes: Buffer): void {
    if (this.#isJson) this.#tail.push(bytes);
    this.#writer.write(bytes);
  }

  #sendHead(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#context.onBegin();
    this.#writer.sendHead(this.#head.status, this.#context.target.headersToClient(this.#head));
  }
}
