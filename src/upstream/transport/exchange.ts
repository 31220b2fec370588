import type { IncomingHttpHeaders } from 'node:http';

/** A request that is held in memory, so that it can be sent again, on another route too. */
export interface HeldRequest {
  method: string;
  /** Scheme, host and port. */
  origin: string;
  /** Path with query. */
  path: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Buffer | string | null;
}

/** Status and headers of a provider's answer. */
export interface AnswerHead {
  status: number;
  /** Names in lower case. */
  headers: IncomingHttpHeaders;
}

/** An answer that is whole in memory. */
export interface HeldAnswer extends AnswerHead {
  body: Buffer;
}

/** One request under way. All three may be called at any time; after the end they do nothing. */
export interface Exchange {
  pause(): void;
  resume(): void;
  /** Closes the provider's connection at once. */
  abort(reason: Error): void;
}

/** Hears of an answer: `sent` when the request goes out, `head` once, `data` as it comes, then `end` or `error`. `error` may come at any time. */
export interface ExchangeListener {
  sent(): void;
  head(head: AnswerHead): void;
  data(chunk: Buffer): void;
  end(): void;
  error(error: unknown): void;
}
