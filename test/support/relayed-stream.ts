import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { answerKindOf } from '../../src/gateway/answer-kind.ts';
import type { AttemptResult, ResultControl } from '../../src/gateway/attempt-result.ts';
import { RelayedStream } from '../../src/gateway/streams/relayed-stream.ts';
import { brokenStream } from '../../src/upstream/routing/attempt-failure.ts';
import { turnPayloads } from './provider-scripts.ts';
import { relayContext } from './relay-context.ts';

const REQUEST = new IncomingMessage(new Socket());

/** A response that keeps what is written to it. */
class KeptResponse extends ServerResponse {
  written = '';
  keepsLong = true;
  head: number | undefined;
  constructor() {
    super(REQUEST);
    Object.defineProperty(this, 'headersSent', { get: () => this.head !== undefined });
  }
  override writeHead(status: number): this {
    this.head = status;
    return this;
  }
  override write(bytes: unknown): boolean {
    if (this.keepsLong || String(bytes).length < 1e6) this.written += String(bytes);
    return true;
  }
  override end(bytes?: unknown): this {
    if (bytes) this.written += String(bytes);
    return this;
  }
}

export interface Relayed {
  written: string;
  head: number | undefined;
  result: AttemptResult;
}

export const SECRET = 'sk-secret-of-the-provider';
const ONE = relayContext(new KeptResponse(), { credential: SECRET });
const SEVERAL = relayContext(new KeptResponse(), { credential: SECRET, several: true });

/** Relays pieces of a stream; `end`: how it ends. `keep`: long pieces are kept; `api`: chat completions by default. */
export function relay(
  pieces: readonly Uint8Array[],
  end: 'in order' | 'cut' = 'in order',
  several = false,
  { keep = true, api = '' }: { keep?: boolean; api?: string } = {},
): Relayed {
  const res = new KeptResponse();
  res.keepsLong = keep;
  let result: AttemptResult | undefined;
  let later: (() => void)[] = [];
  const control: ResultControl = {
    pause() {},
    resume() {},
    started() {},
    finish(finished) {
      result ??= finished;
    },
    soon: (action) => later.push(action),
  };
  const context = several ? SEVERAL : ONE;
  const client = { ...context.client, res };
  const kind = api === '' ? context.kind : answerKindOf(api, 'fast', Buffer.from('{}'));
  const stream = new RelayedStream({ status: 200, headers: {} }, control, { ...context, client, kind });
  for (const piece of pieces) {
    if (result) break;
    stream.data(keep ? Buffer.from(piece) : Buffer.from(piece.buffer, piece.byteOffset, piece.length));
    for (const action of later) action();
    later = [];
  }
  result ??= end === 'cut' ? stream.broken(brokenStream('cut')) : stream.end();
  return { written: res.written, head: res.head, result };
}

export const framed = (payloads: readonly (object | string)[], end = '\n\n') =>
  payloads.map((payload) => `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}${end}`).join('');

export const TURN = turnPayloads({
  reasoning: 'an error is no error \u{1F600}',
  text: 'ü "data: {" \n\n end',
  chunks: 2,
});
