import type { IncomingHttpHeaders } from 'node:http';
import type { OutgoingRequest } from './outgoing-request.ts';

/** Status and headers of a provider's answer. */
export interface AnswerHead {
  status: number;
  /** Names in lower case. */
  headers: IncomingHttpHeaders;
}

/** One request under way. All three may be called at any time; after the end they do nothing. */
export interface Exchange {
  pause(): void;
  resume(): void;
  /** Closes the provider's connection at once. */
  abort(reason: Error): void;
}

/** Hears of an answer: `head` once, `data` as it comes, then `end` or `error`. `error` may come at any time. */
export interface ExchangeListener {
  head(head: AnswerHead): void;
  data(chunk: Buffer): void;
  end(): void;
  error(error: unknown): void;
}

/** Sends a request to its provider. There are two: directly over undici, and through http-proxy-middleware. */
export type Engine = (request: OutgoingRequest, listener: ExchangeListener) => Exchange;

/** An answer that is whole in memory. */
export interface Answer extends AnswerHead {
  body: Buffer;
}
