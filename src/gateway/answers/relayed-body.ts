import type { ServerResponse } from 'node:http';
import { type AttemptFailure, brokenStream } from '../../upstream/provider-answer.ts';
import { MaskedBody, type ProviderTarget } from '../../upstream/provider-target.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from '../attempt-result.ts';
import { ClientWriter } from '../client-writer.ts';
import { lastReportedUsage } from './reported-usage.ts';
import { Tail } from './tail.ts';

/** The longest body, in bytes: beyond it an answer does not end. */
const MAX_BODY = 1024 * 1024 * 1024;

export interface RelayedBodyOptions {
  res: ServerResponse;
  status: number;
  headers: Readonly<Record<string, string>>;
  mask: ProviderTarget['mask'];
  /** Called before the first bytes go out. */
  onBegin(): void;
  /** Called with the length of each piece that comes, in bytes. */
  received(length: number): void;
  /** Whether an empty body is an answer. */
  mayBeEmpty: boolean;
  /** Whether the body is JSON that may tell of usage. */
  isJson: boolean;
}

/** Passes a body to the client as it comes: files, audio, long JSON. What breaks off midway is cut, visibly. */
export class RelayedBody implements ResultReceiver {
  readonly #options: RelayedBodyOptions;
  readonly #control: ResultControl;
  readonly #writer: ClientWriter;
  readonly #tail = new Tail();
  #begun = false;
  #received = 0;
  readonly #masked: MaskedBody;

  constructor(options: RelayedBodyOptions, control: ResultControl) {
    this.#options = options;
    this.#control = control;
    this.#writer = new ClientWriter(options.res, control);
    this.#masked = new MaskedBody(options.mask);
  }

  data(chunk: Buffer): void {
    this.#received += chunk.length;
    this.#options.received(chunk.length);
    if (this.#received > MAX_BODY) {
      this.#control.finish(this.broken(brokenStream('the answer does not end')));
      return;
    }
    if (!this.#begun) this.#control.started();
    this.#begin();
    this.#write(this.#masked.push(chunk));
  }

  end(): AttemptResult {
    if (!this.#begun && !this.#options.mayBeEmpty) {
      return { is: 'failed', failure: brokenStream('the answer is empty') };
    }
    this.#begin();
    this.#write(this.#masked.end());
    this.#writer.end();
    return { is: 'delivered', usage: lastReportedUsage(this.#tail.text()) };
  }

  broken(failure: AttemptFailure): AttemptResult {
    if (!this.#begun) return { is: 'failed', failure };
    this.#writer.cut();
    return { is: 'delivered', usage: null, failure };
  }

  #write(bytes: Buffer): void {
    if (this.#options.isJson) this.#tail.push(bytes);
    this.#writer.write(bytes);
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#options.onBegin();
    this.#writer.begin(this.#options.status, this.#options.headers);
  }
}
