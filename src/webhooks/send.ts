import { TimeoutError, withTimeout } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import { matchesHost } from '../base/hosts.ts';
import type { SafeFetch } from '../tools/safe-fetch/safe-fetch.ts';
import { ToolError } from '../tools/tool.ts';
import type { DeliveryAttempt } from './delivery.ts';

/** How long a receiver may take, in milliseconds. */
const ANSWER_MS = 10_000;
const CONNECTIONS = 32;

/** Sends events to receivers. */
export interface Sender extends AsyncDisposable {
  /** Makes one attempt at the time `now`, in Unix milliseconds. Never rejects: the attempt says what went wrong. */
  send(url: string, message: { headers: Record<string, string>; body: string }, now: number): Promise<DeliveryAttempt>;
}

/**
 * Sends over HTTP, without following redirects. Addresses are checked when the socket is opened, like those of pages, except
 * for hosts that the operator trusts.
 */
export function createSender(options: { allowHosts(): readonly string[]; signal: AbortSignal }): Sender {
  const { allowHosts, signal } = options;
  let fetches: { open: SafeFetch; guarded: SafeFetch } | undefined;
  /** Loaded with the first delivery, because most gateways never have one. */
  const loadFetches = async () => {
    const { createSafeFetch } = await import('../tools/safe-fetch/safe-fetch.ts');
    // The body is not read: the status alone says whether the receiver took the event.
    const bounds = { connections: CONNECTIONS, maxBytes: Number.POSITIVE_INFINITY, userAgent: 'research-gateway' };
    fetches ??= { open: createSafeFetch({ ...bounds, allowPrivateAddresses: true }), guarded: createSafeFetch(bounds) };
    return fetches;
  };
  return {
    async send(url, { headers, body }, now) {
      const post = async (limited: AbortSignal) => {
        const { open, guarded } = await loadFetches();
        const { fetch } = matchesHost(new URL(url).hostname, allowHosts()) ? open : guarded;
        const init = { method: 'POST', headers, body, redirect: 'manual', signal: limited } as const;
        const answer = await fetch(url, init);
        await answer.body?.cancel();
        return answer.status;
      };
      try {
        const status = await withTimeout('the receiver', ANSWER_MS, post, { signal });
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
