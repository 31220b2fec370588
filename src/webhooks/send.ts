import { messageOf } from '../base/errors.ts';
import { matchesHost } from '../base/hosts.ts';
import type { SafeFetch } from '../tools/safe-fetch/safe-fetch.ts';
import { ToolError } from '../tools/tool.ts';
import type { Attempt } from './delivery.ts';

/** How long a receiver may take, in milliseconds. */
const ANSWER_MS = 10_000;
/** To one host. */
const CONNECTIONS = 32;

/** Tells receivers. */
export interface Sender extends AsyncDisposable {
  /** One attempt at the time `now`. Never rejects: what went wrong is in it. */
  send(url: string, message: { headers: Record<string, string>; body: string }, now: number): Promise<Attempt>;
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
    const bounds = { connections: CONNECTIONS, maxBytes: 65_536, userAgent: 'research-gateway' };
    fetches ??= { open: createSafeFetch({ ...bounds, allowPrivateAddresses: true }), guarded: createSafeFetch(bounds) };
    return fetches;
  };
  return {
    async send(url, { headers, body }, now) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
      try {
        const { open, guarded } = await opened();
        const { fetch } = matchesHost(new URL(url).hostname, allowHosts()) ? open : guarded;
        const init = { method: 'POST', headers, body, redirect: 'manual', signal: limit } as const;
        const answer = await fetch(url, init);
        await answer.body?.cancel();
        return { at: now, status: answer.status, error: null };
      } catch (thrown) {
        return { at: now, status: null, error: reasonOf(thrown, limit) };
      }
    },
    async [Symbol.asyncDispose]() {
      await fetches?.open[Symbol.asyncDispose]();
      await fetches?.guarded[Symbol.asyncDispose]();
    },
  };
}

function reasonOf(thrown: unknown, limit: AbortSignal): string {
  if (limit.aborted) return 'timeout';
  return thrown instanceof ToolError ? thrown.code : messageOf(thrown).slice(0, 100);
}
