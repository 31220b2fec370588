import type { ServerResponse } from 'node:http';
import { atTurnEnd, corkUntilTurnEnd } from '../base/load/turn-end.ts';
import type { AnswerCopy } from './answers/answer-copy.ts';

/** A client that reads nothing for this long is disconnected, in milliseconds. */
const STALLED_MS = 5 * 60_000;

/** Writes an answer to a client piece by piece, and pauses its source while the client is slow. */
export class ClientWriter {
  readonly #res: ServerResponse;
  readonly #copy: AnswerCopy | undefined;
  readonly #source: { pause(): void; resume(): void };

  constructor(
    { res, copy }: { res: ServerResponse; copy?: AnswerCopy | undefined },
    source: { pause(): void; resume(): void },
  ) {
    this.#res = res;
    this.#copy = copy;
    this.#source = source;
  }

  /** Whether the head was sent, perhaps by an earlier attempt. */
  get hasHead(): boolean {
    return this.#res.headersSent;
  }

  sendHead(status: number, headers: Readonly<Record<string, string>>): void {
    if (this.hasHead) return;
    this.#copy?.begin(status, headers);
    this.#res.writeHead(status, headers);
  }

  write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#copy?.push(bytes);
    if (this.#res.socket) corkUntilTurnEnd(this.#res.socket);
    if (!this.#res.write(bytes)) this.#waitForClient();
  }

  end(bytes?: string): void {
    if (bytes !== undefined) this.#copy?.push(bytes);
    end(this.#res, bytes);
  }

  /** Breaks the connection, so that the client does not mistake a partial answer for a complete one. */
  cut(): void {
    this.#res.destroy();
  }

  #waitForClient(): void {
    const res = this.#res;
    const source = this.#source;
    source.pause();
    const timer = setTimeout(() => res.destroy(), STALLED_MS);
    const resume = () => {
      clearTimeout(timer);
      res.off('drain', resume).off('close', resume);
      source.resume();
    };
    // `drain` alone would never come if the client disconnects.
    res.on('drain', resume).on('close', resume);
  }
}

/** Ends a complete answer at the end of this turn of the event loop. */
export function endAnswer(res: ServerResponse, bytes: string | Buffer, encoding?: 'latin1'): void {
  atTurnEnd(() => end(res, bytes, encoding));
}

/** Disconnects a client that does not read the rest in time, so that it holds no memory. */
function end(res: ServerResponse, bytes?: string | Buffer, encoding?: 'latin1'): void {
  if (typeof bytes === 'string' && encoding) res.end(bytes, encoding);
  else res.end(bytes);
  if (res.writableFinished || res.writableLength === 0) return;
  const timer = setTimeout(() => res.destroy(), STALLED_MS);
  res.once('close', () => clearTimeout(timer));
}
