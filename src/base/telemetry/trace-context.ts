import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';

/** The headers of the W3C trace that a request belongs to. They are sent on with every request made for it. */
export type TraceContext = { traceparent: string; tracestate?: string };

const current = new AsyncLocalStorage<TraceContext | undefined>();

/** Does work as part of a trace, including everything that the work starts. */
export function runInTrace<T>(trace: TraceContext | undefined, work: () => T): T {
  return current.run(trace, work);
}

/** The trace headers of the current work. */
export function currentTrace(): TraceContext | undefined {
  return current.getStore();
}

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}(?:-[\x21-\x7e]{0,64})?$/;
/** Longer states are dropped, because the state is stored with each run; in characters. */
const MAX_STATE_LENGTH = 1024;
const STATE = /^[\x20-\x7e]+$/;

/** The trace of a request; undefined if it has no valid one. */
export function traceOf({ traceparent, tracestate }: IncomingHttpHeaders): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined;
  const state = String(tracestate ?? '');
  return STATE.test(state) && state.length <= MAX_STATE_LENGTH ? { traceparent, tracestate: state } : { traceparent };
}
