import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { GatewayError } from '../errors.ts';
import { currentTrace, inTrace, type TraceContext } from '../trace-context.ts';

/**
 * Spans of OpenTelemetry (docs/telemetry.md). Where the process has no SDK they do nothing, and the trace of the client
 * goes on as it came.
 */

/** The name of the instrumentation, of spans and of metrics. */
export const SCOPE = 'research-gateway';
/** A request, or an execution of a run, has at most so many spans; what is done beyond them goes without. */
const MOST_SPANS = 1000;
/** The longest text of an attribute, in UTF-16 code units. */
export const LONGEST_TEXT = 16_384;

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

export interface SpanOptions {
  name: string;
  /** `internal` where absent. */
  kind?: keyof typeof KINDS;
  attributes?: Attributes;
  /**
   * A span that stands below no other one of this process, in the trace of its own request. `contents`: those below it
   * may show what is said. Absent: it stands below the span whose work it is.
   */
  root?: { trace: TraceContext | undefined; contents: boolean };
}

/** What the spans below one root share. */
interface Bounds {
  left: number;
  contents: boolean;
}

const open = new AsyncLocalStorage<OpenSpan>();

/** A span from its start to its end. */
export class OpenSpan {
  /** The headers of requests that belong to it; those of the client's trace where there is no span. */
  readonly trace: TraceContext | undefined;
  readonly bounds: Bounds;
  readonly #span: Span | undefined;

  constructor({ span, trace, bounds }: { span?: Span; trace: TraceContext | undefined; bounds: Bounds }) {
    this.#span = span;
    this.trace = trace;
    this.bounds = bounds;
  }

  /** Whether somebody gets to see what is set. */
  get isRecorded(): boolean {
    return this.#span?.isRecording() ?? false;
  }

  /** Whether what is said may be set, too. */
  get showsContents(): boolean {
    return this.bounds.contents && this.isRecorded;
  }

  set(attributes: Attributes): void {
    if (this.isRecorded) this.#span?.setAttributes(bounded(attributes));
  }

  /** Marks what it stands for as failed. `type`: a code or a kind, no message: those may quote what was said. */
  fail(type: string): void {
    this.set({ 'error.type': type });
    this.#span?.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span?.end();
  }

  /** Does what belongs to the span: spans below it, and requests that carry its trace. */
  in<T>(work: () => T): T {
    const span = this.#span;
    if (!span) return this.#inTrace(work);
    return open.run(this, () => context.with(trace.setSpan(context.active(), span), () => this.#inTrace(work)));
  }

  #inTrace<T>(work: () => T): T {
    return this.trace === currentTrace() ? work() : inTrace(this.trace, work);
  }

  /** Where a span below this one belongs. */
  above(): Context {
    return this.#span ? trace.setSpan(context.active(), this.#span) : context.active();
  }
}

/** What there is where nobody sees spans and the client has no trace. */
const UNRECORDED = new OpenSpan({ trace: undefined, bounds: { left: 0, contents: false } });

/** The span whose work is being done. */
export function activeSpan(): OpenSpan | undefined {
  return open.getStore();
}

/** Whether the process has an SDK, the gateway's or that of an application around it. */
export function hasSdk(): boolean {
  return tracerNow() !== undefined;
}

/** Starts a span. Whoever starts it ends it. */
export function startSpan({ name, kind = 'internal', attributes = {}, root }: SpanOptions): OpenSpan {
  const parent = root ? root.trace : currentTrace();
  const tracer = tracerNow();
  if (!tracer && !parent) return UNRECORDED;
  const above = root ? undefined : activeSpan();
  const bounds = above?.bounds ?? { left: MOST_SPANS, contents: root?.contents ?? false };
  if (!tracer || bounds.left <= 0) return new OpenSpan({ trace: parent, bounds });
  bounds.left -= 1;
  const place = above && above.trace === parent ? above.above() : placeIn(parent, { isRoot: root !== undefined });
  const span = tracer.startSpan(name, { kind: KINDS[kind], attributes: bounded(attributes) }, place);
  return new OpenSpan({ span, trace: headersOf(span) ?? parent, bounds });
}

/** Does work in a span that ends with it, and that fails where the work does. */
export async function inSpan<T>(options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  const span = startSpan(options);
  try {
    return await span.in(() => work(span));
  } catch (thrown) {
    span.fail(errorType(thrown));
    throw thrown;
  } finally {
    span.end();
  }
}

/** What a failure is called: its code, or the name of its kind. */
export function errorType(thrown: unknown): string {
  if (thrown instanceof GatewayError) return thrown.code;
  return thrown instanceof Error ? thrown.name : 'unknown';
}

/** The trace of a span of an application around the gateway that is active now. */
export function traceAround(): TraceContext | undefined {
  const around = trace.getActiveSpan();
  return around && headersOf(around);
}

function tracerNow(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(SCOPE) : provider.getTracer(SCOPE);
}

/** What comes from elsewhere, as its headers say. */
function placeIn(parent: TraceContext | undefined, { isRoot }: { isRoot: boolean }): Context {
  if (!parent) return isRoot ? ROOT_CONTEXT : context.active();
  const [, traceId = '', spanId = '', flags = ''] = parent.traceparent.split('-');
  return trace.setSpanContext(isRoot ? ROOT_CONTEXT : context.active(), {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(parent.tracestate !== undefined && { traceState: createTraceState(parent.tracestate) }),
  });
}

function headersOf(span: Span): TraceContext | undefined {
  const made = span.spanContext();
  if (!isSpanContextValid(made)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = made;
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

function bounded(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > LONGEST_TEXT ? value.slice(0, LONGEST_TEXT) : value,
    ]),
  );
}
