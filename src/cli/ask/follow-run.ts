import { randomUUID } from 'node:crypto';
import { sleep } from '../../base/abort.ts';
import { isTerminal, type RunEvent } from '../../protocol/events.ts';
import { ConnectionError, type GatewayClient, RefusedError, type SubmittedQuestion } from './gateway-client.ts';

/** How many attempts in a row may fail before giving up; with the pauses between them, about a minute. */
const MAX_TRIES = 12;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

/** A run to submit, or one to follow. */
export type RunStart = { submit: SubmittedQuestion } | { resume: string };

/**
 * Yields all events of a run from the first to the terminal one, each once, over as many connections as it takes: a dropped
 * stream is resumed after the last event received.
 * @throws RefusedError, ConnectionError, or the signal's reason.
 */
export async function* followRun(
  client: GatewayClient,
  start: RunStart,
  options: { signal: AbortSignal; onLost?(reason: string): void },
): AsyncGenerator<RunEvent, void, undefined> {
  const { signal } = options;
  const idempotencyKey = randomUUID();
  let id = 'resume' in start ? start.resume : undefined;
  let hasConnected = false;
  let after = 0;
  for (let tries = 0; ; ) {
    let lost: Error;
    try {
      const events =
        'submit' in start && id === undefined
          ? client.submit(start.submit, { idempotencyKey, signal })
          : client.follow(id ?? '', { after, signal });
      for await (const event of events) {
        if (event.sequence_number <= after) continue;
        after = event.sequence_number;
        tries = 0;
        hasConnected = true;
        if (event.type === 'response.created') id = event.response.id;
        yield event;
        if (isTerminal(event)) return;
      }
      // A gateway that shuts down gracefully ends its streams without a terminal event.
      hasConnected = true;
      lost = new ConnectionError('the stream ended before the run did', { answered: true });
    } catch (error) {
      if (error instanceof ConnectionError && error.answered) hasConnected = true;
      if (!(error instanceof Error) || !hasConnected || !isRetryable(error)) throw error;
      lost = error;
    }
    tries++;
    if (tries >= MAX_TRIES)
      throw new ConnectionError(`gave up after ${MAX_TRIES} tries: ${lost.message}`, {
        cause: lost,
        answered: hasConnected,
      });
    options.onLost?.(lost.message);
    await sleep(pause(tries, lost), { signal });
  }
}

/** Whether another attempt can help. Only asked once the gateway has answered: one that never did is probably not there. */
function isRetryable(error: Error): boolean {
  return (
    error instanceof ConnectionError || (error instanceof RefusedError && (error.status >= 500 || error.status === 429))
  );
}

function pause(tries: number, lost: Error): number {
  const retryAfterMs = lost instanceof RefusedError ? lost.retryAfterMs : undefined;
  const backOff = FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random());
  return Math.min(retryAfterMs ?? backOff, MAX_PAUSE_MS);
}
