import { once } from 'node:events';
import { WebSocket } from 'ws';
import { isObject } from '../../src/base/json.ts';
import { KEYS } from './http-gateway.ts';

export interface SocketFrame {
  type: string;
  stream_id?: string;
  [field: string]: unknown;
}

/** A client's WebSocket, which records the frames that it receives. */
export class SocketClient implements AsyncDisposable {
  readonly ws: WebSocket;
  readonly frames: SocketFrame[] = [];
  /** How it was closed. */
  readonly closed: Promise<{ code: number; reason: string }>;
  #news = Promise.withResolvers<void>();

  private constructor(ws: WebSocket) {
    this.ws = ws;
    this.closed = new Promise((resolve) => {
      ws.once('close', (code, reason) => {
        resolve({ code, reason: reason.toString() });
        this.#tell();
      });
    });
    ws.on('error', () => {});
    ws.on('message', (data) => {
      const frame: unknown = JSON.parse(String(data));
      if (isObject(frame) && typeof frame.type === 'string') this.frames.push({ ...frame, type: frame.type });
      this.#tell();
    });
  }

  static async open(
    { url }: { url: string },
    {
      key = KEYS.ann,
      headers: further = {},
      ...options
    }: {
      key?: string;
      headers?: Record<string, string>;
      autoPong?: boolean;
      perMessageDeflate?: boolean;
      handshakeTimeout?: number;
    } = {},
  ): Promise<SocketClient> {
    const headers = { ...further, authorization: `Bearer ${key}` };
    const client = new SocketClient(
      new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers, ...options }),
    );
    await once(client.ws, 'open');
    return client;
  }

  /** Sends a `response.create`. */
  create(fields: object): void {
    this.ws.send(JSON.stringify({ type: 'response.create', model: 'deep', ...fields }));
  }

  /** The first frame that fits and was not given before; fails where the socket closes without. */
  async next(fits: (frame: SocketFrame) => boolean): Promise<SocketFrame> {
    for (;;) {
      const at = this.frames.findIndex(fits);
      const [frame] = at === -1 ? [] : this.frames.splice(at, 1);
      if (frame) return frame;
      if (this.ws.readyState === WebSocket.CLOSED) throw new Error('the socket closed');
      await this.#news.promise;
    }
  }

  /** The response of the next terminal event, on a stream where one is named. */
  async end(stream?: string): Promise<Record<string, unknown>> {
    const { response } = await this.next(
      ({ type, stream_id }) => /^response\.(?:completed|failed|incomplete)$/.test(type) && stream_id === stream,
    );
    return isObject(response) ? response : {};
  }

  /** The error object of the next error. */
  async error(): Promise<Record<string, unknown>> {
    const { status, error } = await this.next(({ type }) => type === 'error');
    return { status, ...(isObject(error) && error) };
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ws.terminate();
    await this.closed;
  }
}
