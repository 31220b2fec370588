import { TimeoutError, withTimeout } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import { matchesHost } from '../base/hosts.ts';
import type { SafeFetch } from '../tools/safe-fetch/safe-fetch.ts';
import { ToolError } from '../tools/tool.ts';
import type { DeliveryAttempt } from './delivery.ts';

/** How long a receiver may take, in milliseconds. */
const ANSWER_MS = 10_000;
/** To one host. */
const CONNECTIONS = 32;

/** Tells receivers. */
export interface Sender extends AsyncDisposable {
  /** One attempt at the time `now`. Never rejects: what went wrong is in it. */
  send(url: string, message: { headers: Record<string, string>; body: string }, now: number): Promise<DeliveryAttempt>;
}

/**
 * Over HTTP, without following redirects. Addresses are checked where the socket is opened, as those of pages are, but for
 * the hosts that the operator trusts.
 */
export function createSender(options: { allowHosts(): readonly string[]; signal: AbortSignal }): Sender {
  const { allowHosts, signal } = options;
  let fetches: { open: SafeFetch; guarded: SafeFetch } | undefined;
  /** Loaded with the first delivery: most gateways have none. */
  const opened = async () => {
    const { createSafeFetch } = await import('../tools/safe-fetch/safe-fetch.ts');
    // Bodies are not read: a receiver has taken the event however much it says.
    const bounds = { connections: CONNECTIONS, maxBytes: Number.POSITIVE_INFINITY, userAgent: 'research-gateway' };
    fetches ??= { open: createSafeFetch({ ...bounds, allowPrivateAddresses: true }), guarded: createSafeFetch(bounds) };
    return fetches;
  };
  return {
    async send(url, { headers, body }, now) {
      const tell = async (limited: AbortSignal) => {
        const { open, guarded } = await opened();
        const { fetch } = matchesHost(new URL(url).hostname, allowHosts()) ? open : guarded;
        const init = { method: 'POST', headers, body, redirect: 'manual', signal: limited } as const;
        const answer = await fetch(url, init);
        await answer.body?.cancel();
        return answer.status;
      };
      try {
        const status = await withTimeout('the receiver', ANSWER_MS, tell, { signal });
        return { at: now, status, error: null };
      } catch (thrown) {
        return { at: now, status: null, error: reasonOf(thrown) };
      }
    },
    async [Symbol.asyncDispose]() {
      await fetches?.open[Symbol.asyncDispose]();
      await fetches?.guarded[Symbol.asyncDispose]();
    },
  };
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof TimeoutError) return 'timeout';
  return thrown instanceof ToolError ? thrown.code : messageOf(thrown).slice(0, 100);
}
