import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface TimedRequest {
  url: string;
  headers: Record<string, string>;
}

export type TimedOrder =
  | { what: 'one after the other'; requests: readonly TimedRequest[]; count: number }
  | { what: 'watch'; request: TimedRequest; everyMs: number }
  | { what: 'stop' };

/** A client whose own work does not count: it runs in a process of its own, and does one thing at a time. */
export interface TimedClient extends AsyncDisposable {
  /** Sends `count` requests one after the other, these in turn; the milliseconds that each took, to its last byte. */
  inTurn(requests: readonly TimedRequest[], count: number): Promise<number[]>;
  /** Sends a request again and again, with a pause between, until it is stopped; the milliseconds of each. */
  watch(request: TimedRequest, options: { everyMs: number }): { stop(): Promise<number[]> };
}

export async function startTimedClient(): Promise<TimedClient> {
  const child = fork(fileURLToPath(new URL('../targets/timed-client.ts', import.meta.url)), { execArgv: [] });
  await once(child, 'spawn');
  const send = async (order: TimedOrder): Promise<number[]> => {
    const answered = once(child, 'message');
    child.send(order);
    const [{ ms, failure }] = await answered;
    if (failure !== undefined) throw new Error(failure);
    return ms;
  };
  return {
    inTurn: (requests, count) => send({ what: 'one after the other', requests, count }),
    watch(request, { everyMs }) {
      const times = send({ what: 'watch', request, everyMs });
      return {
        stop() {
          child.send({ what: 'stop' });
          return times;
        },
      };
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}
