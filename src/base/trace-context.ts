import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';

/** The W3C trace that a request belongs to, as its headers; it goes on to whatever works for it. */
export type TraceContext = { traceparent: string; tracestate?: string };

const current = new AsyncLocalStorage<TraceContext | undefined>();

/** Does work that belongs to a trace, and all that it starts and waits for. */
export function inTrace<T>(trace: TraceContext | undefined, work: () => T): T {
  return current.run(trace, work);
}

/** The trace that what is done now belongs to, as headers. */
export function currentTrace(): TraceContext | undefined {
  return current.getStore();
}

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}(?:-[\x21-\x7e]{0,64})?$/;
/** A state is at most this long, in characters: it is stored with each run. */
const LONGEST_STATE = 1024;
const STATE = /^[\x20-\x7e]+$/;

/** The trace of a request; undefined where it has none, or none that is valid. */
export function traceOf({ traceparent, tracestate }: IncomingHttpHeaders): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined;
  const state = String(tracestate ?? '');
  return STATE.test(state) && state.length <= LONGEST_STATE ? { traceparent, tracestate: state } : { traceparent };
}
