import OpenAI from 'openai';
import { type Dispatcher, Response } from 'undici';
import type { JsonObject } from '../base/json.ts';
import { AttemptFailure, brokenStream } from './attempt-failure.ts';
import { failureOfAnswer } from './failure-of-answer.ts';
import { PhaseTimeout, type PhaseTimer } from './phase-timer.ts';
import { callProvider, type Refusal, readRefusal } from './provider-fetch.ts';
import type { Scrubber } from './secrets.ts';

/** Where and how one request goes out. */
export interface ExchangeTarget {
  baseUrl: string;
  credential: string | undefined;
  headers: Readonly<Record<string, string>>;
  dispatcher: Dispatcher;
  timeouts: { first_byte: number };
}

/**
 * Asks a provider for a streamed chat completion and gives its answer as soon as the headers of a success are there.
 * The official client makes the request (its URLs and authentication); retries, time limits and parsing are ours.
 * @throws AttemptFailure, or the reason of the caller's signal.
 */
export async function openExchange(
  target: ExchangeTarget,
  body: JsonObject,
  guard: { timer: PhaseTimer; scrubber: Scrubber },
): Promise<Response> {
  const { timer, scrubber } = guard;
  const got: { response?: Response; refusal?: Refusal } = {};
  const client = new OpenAI({
    baseURL: target.baseUrl,
    // Explicit, so that nothing is taken from the environment of the process.
    apiKey: target.credential ?? 'none',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: 2 ** 31 - 1,
    logLevel: 'off',
    defaultHeaders: target.credential === undefined ? { authorization: null } : {},
    fetch: async (url, init) => {
      const response = await callProvider(
        String(url),
        { method: 'POST', body: String(init?.body), headers: new Headers(init?.headers) },
        { dispatcher: target.dispatcher, headers: target.headers, signal: timer.signal },
      );
      if (response.ok) got.response = response;
      else got.refusal = await readRefusal(response);
      return new Response(null, { status: response.ok ? 200 : 500 });
    },
  });
  timer.enter('headers', target.timeouts.first_byte);
  try {
    await client.post('/chat/completions', { body }).asResponse();
  } catch (error) {
    if (got.refusal) {
      const refused = { text: got.refusal.text, body };
      throw failureOfAnswer(got.refusal, scrubber, Date.now()).with({ refused });
    }
    throw failureOfConnection(error, timer.signal);
  } finally {
    timer.pause();
  }
  if (!got.response) throw brokenStream('no answer');
  return got.response;
}

/** What a failed read or connect means: our own time limit, the caller's signal, or a network fault. */
export function failureOfConnection(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof AttemptFailure) return error;
  if (signal.aborted) {
    const reason: unknown = signal.reason;
    if (!(reason instanceof PhaseTimeout)) return reason;
    return new AttemptFailure(reason.message, { kind: 'timeout', advice: 'again', unhealthy: true });
  }
  const code = networkCode(error);
  const kind = code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT' ? 'timeout' : 'failed';
  return new AttemptFailure(`the connection failed (${code})`, { kind, advice: 'again', unhealthy: true });
}

/** The code of a network fault, wherever in the chain of causes it stands. */
function networkCode(error: unknown): string {
  let current = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    if ('code' in current && typeof current.code === 'string' && /^[A-Z_]+$/.test(current.code)) return current.code;
    if (current instanceof AggregateError && current.errors.length > 0) current = current.errors[0];
    else current = current.cause;
  }
  return 'unknown fault';
}
