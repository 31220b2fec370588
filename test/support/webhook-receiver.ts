import type { IncomingHttpHeaders } from 'node:http';
import { startWebServer } from './web-server.ts';

/** A webhook as the receiver got it. */
export interface ReceivedWebhook {
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The receiver's reply: a status, a status with headers, or no reply at all. */
export type ReceiverReply = number | { status: number; headers: Record<string, string> } | 'nothing';

/** A receiver of webhooks on loopback. */
export interface WebhookReceiver extends AsyncDisposable {
  url: string;
  messages: ReceivedWebhook[];
  /** Resolves with the first `count` messages. */
  waitFor(count: number): Promise<ReceivedWebhook[]>;
}

/** Starts a receiver. Use with `await using`. */
export async function startReceiver(
  say: (message: ReceivedWebhook, n: number) => ReceiverReply = () => 204,
): Promise<WebhookReceiver> {
  const messages: ReceivedWebhook[] = [];
  const waiting = new Set<() => void>();
  const server = await startWebServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const message = { path: req.url ?? '', method: req.method ?? '', headers: req.headers, body };
      const said = say(message, messages.push(message) - 1);
      for (const look of waiting) look();
      if (said === 'nothing') return;
      if (typeof said === 'number') res.writeHead(said).end();
      else res.writeHead(said.status, said.headers).end();
    });
  });
  return {
    url: server.origin,
    messages,
    waitFor: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (messages.length < count) return;
          waiting.delete(look);
          resolve(messages.slice(0, count));
        };
        waiting.add(look);
        look();
      }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
