import type { ServerResponse } from 'node:http';
import type { LongAnswers } from '../limits/long-answers.ts';
import { type JsonAnswer, writeJson } from './json.ts';
import { type StreamAnswer, writeStream } from './sse.ts';
import { type WaitingAnswer, writeWhenReady } from './waiting.ts';

/** What an endpoint returns. `written`: it wrote the answer itself. */
export type Answer = ({ kind: 'json' } & JsonAnswer) | StreamAnswer | WaitingAnswer | { kind: 'written' };

interface JsonOptions {
  status?: number;
  headers?: Record<string, string>;
}

export function json(value: unknown, options: JsonOptions = {}): Answer {
  return jsonText(JSON.stringify(value), options);
}

export function jsonText(body: string | Buffer, { status = 200, headers = {} }: JsonOptions = {}): Answer {
  return { kind: 'json', status, headers, body };
}

/** Writes an answer to its end. After a rejection that follows the headers, the caller has to break the connection. */
export async function sendAnswer(
  res: ServerResponse,
  answer: Answer,
  options: { heartbeatMs: number; longAnswers: LongAnswers; signal: AbortSignal },
): Promise<void> {
  if (answer.kind === 'json') await writeJson(res, answer, options.longAnswers);
  else if (answer.kind === 'stream') await writeStream(res, answer, options);
  else if (answer.kind === 'waiting') await writeWhenReady(res, answer, options);
}
