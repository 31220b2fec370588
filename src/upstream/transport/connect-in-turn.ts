import type { buildConnector } from 'undici';

/**
 * Connections that are made at a time. Of those that come at once a server holds some hundreds; the others wait for a
 * second, three or seven, until their first packet is sent again.
 */
const MAX_CONNECTING = 256;

interface QueuedConnection {
  since: number;
  begin(): void;
  fail(error: Error): void;
}

/**
 * Makes connections in the order in which they are asked for, a bounded number at a time. `timeoutMs`: how long making
 * one may take, in milliseconds; where one fails, those that have waited for half of that fail with it, so that nobody waits
 * for much longer in all.
 */
export function connectInTurn(
  connect: buildConnector.connector,
  { timeoutMs, now = () => performance.now() }: { timeoutMs: number; now?: () => number },
): buildConnector.connector {
  const waiting: QueuedConnection[] = [];
  let connecting = 0;

  const next = (failure: Error | null) => {
    connecting--;
    while (failure && waiting[0] && now() - waiting[0].since >= timeoutMs / 2) waiting.shift()?.fail(failure);
    waiting.shift()?.begin();
  };
  return (options, callback) => {
    const begin = () => {
      connecting++;
      const done: buildConnector.Callback = (...made) => {
        next(made[0]);
        callback(...made);
      };
      try {
        connect(options, done);
      } catch (thrown) {
        done(thrown instanceof Error ? thrown : new Error(String(thrown)), null);
      }
    };
    if (connecting < MAX_CONNECTING) begin();
    else waiting.push({ since: now(), begin, fail: (error) => callback(error, null) });
  };
}
