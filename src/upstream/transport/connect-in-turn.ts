import type { buildConnector } from 'undici';

/**
 * How many connections are opened at once. A server's backlog takes a few hundred; beyond that, packets are dropped, and
 * TCP sends them again after one, three or seven seconds.
 */
const MAX_CONNECTING = 256;

interface QueuedConnection {
  since: number;
  begin(): void;
  fail(error: Error): void;
}

/**
 * Opens connections in the order of their requests, a bounded number at a time. `timeoutMs`: how long one may take, in
 * milliseconds. When one fails, those queued for at least half of that fail too, so that no request waits much longer
 * than `timeoutMs` in total.
 */
export function connectInTurn(
  connect: buildConnector.connector,
  { timeoutMs, now = () => performance.now() }: { timeoutMs: number; now?: () => number },
): buildConnector.connector {
  const queue: QueuedConnection[] = [];
  let connecting = 0;

  const next = (failure: Error | null) => {
    connecting--;
    while (failure && queue[0] && now() - queue[0].since >= timeoutMs / 2) queue.shift()?.fail(failure);
    queue.shift()?.begin();
  };
  return (options, callback) => {
    const begin = () => {
      connecting++;
      const done: buildConnector.Callback = (...result) => {
        next(result[0]);
        callback(...result);
      };
      try {
        connect(options, done);
      } catch (thrown) {
        done(thrown instanceof Error ? thrown : new Error(String(thrown)), null);
      }
    };
    if (connecting < MAX_CONNECTING) begin();
    else queue.push({ since: now(), begin, fail: (error) => callback(error, null) });
  };
}
