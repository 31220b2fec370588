import type { ServerResponse } from 'node:http';
import type { HeldTexts } from '../limits/held-texts.ts';
import { type StreamAnswer, writeStream } from './sse.ts';
import { type WaitingAnswer, writeWhenReady } from './waiting.ts';
import { writeJson } from './write-text.ts';

/** A complete JSON answer. `text` is its JSON, written as it is: bytes are UTF-8. */
export interface JsonAnswer {
  kind: 'json';
  status: number;
  text: string | Buffer;
  headers: Record<string, string>;
}

/** What an endpoint answers. `written`: it wrote the answer itself. */
export type Answer = JsonAnswer | StreamAnswer | WaitingAnswer | { kind: 'written' };

/** A JSON answer from a value. */
export function json(value: unknown, options: { status?: number; headers?: Record<string, string> } = {}): JsonAnswer {
  return jsonText(JSON.stringify(value), options);
}

/** A JSON answer from JSON that is written already. */
export function jsonText(
  text: string | Buffer,
  options: { status?: number; headers?: Record<string, string> } = {},
): JsonAnswer {
  return { kind: 'json', status: options.status ?? 200, text, headers: options.headers ?? {} };
}

/** Writes an answer to its end. A rejection may come after the headers: then the connection has to be broken. */
export async function writeAnswer(
  res: ServerResponse,
  answer: Answer,
  options: { heartbeatMs: number; heldTexts: HeldTexts; signal: AbortSignal },
): Promise<void> {
  switch (answer.kind) {
    case 'json':
      return await writeJson(
        res,
        { status: answer.status, headers: answer.headers, body: answer.text },
        options.heldTexts,
      );
    case 'stream':
      return await writeStream(res, answer, options);
    case 'waiting':
      return await writeWhenReady(res, answer, options);
    case 'written':
      return;
  }
}
