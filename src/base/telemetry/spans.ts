import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import { GatewayError } from '../errors.ts';
import { otel } from './otel-api.ts';
import { currentTrace, runInTrace, type TraceContext } from './trace-context.ts';

const { context, createTraceState, isSpanContextValid, ProxyTracerProvider, ROOT_CONTEXT, trace } = otel;
const { SpanKind, SpanStatusCode } = otel;

/**
 * OpenTelemetry spans (docs/telemetry.md). Without an SDK in the process they do nothing, and the client's trace context
 * is passed on unchanged.
 */

/** The instrumentation scope of spans and metrics. */
export const INSTRUMENTATION_SCOPE = 'research-gateway';
/** How many spans a request or an execution of a run may have; work beyond that gets none. */
const MAX_SPANS = 1000;
/** The longest text of an attribute, in UTF-16 code units. */
export const MAX_ATTRIBUTE_LENGTH = 16_384;

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

export interface SpanOptions {
  name: string;
  /** Default: `internal`. */
  kind?: keyof typeof KINDS;
  attributes?: Attributes;
  /**
   * Makes it a root: a span without a parent in this process, in the trace of its own request. `contents`: spans below it
   * may record texts. Absent: its parent is the active span.
   */
  root?: { trace: TraceContext | undefined; contents: boolean };
}

/** Shared by all spans below one root. */
interface Bounds {
  /** How many more spans may be started. */
  left: number;
  contents: boolean;
}

const open = new AsyncLocalStorage<OpenSpan>();

/** A span from its start to its end. */
export class OpenSpan {
  /** Trace headers for requests that belong to the span; without a span, those of the client. */
  readonly trace: TraceContext | undefined;
  readonly bounds: Bounds;
  readonly #span: Span | undefined;

  constructor({ span, trace, bounds }: { span?: Span; trace: TraceContext | undefined; bounds: Bounds }) {
    this.#span = span;
    this.trace = trace;
    this.bounds = bounds;
  }

  get isRecorded(): boolean {
    return this.#span?.isRecording() ?? false;
  }

  /** Whether texts of requests and answers may be recorded too. */
  get showsContents(): boolean {
    return this.bounds.contents && this.isRecorded;
  }

  set(attributes: Attributes): void {
    if (this.isRecorded) this.#span?.setAttributes(bounded(attributes));
  }

  /** Marks the span as failed. `type`: a code or a kind, never a message, which may quote texts of a request. */
  fail(type: string): void {
    this.set({ 'error.type': type });
    this.#span?.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span?.end();
  }

  /** Does work inside the span: it becomes the parent of spans and of requests that the work makes. */
  in<T>(work: () => T): T {
    const span = this.#span;
    if (!span) return this.#inTrace(work);
    return open.run(this, () => context.with(trace.setSpan(context.active(), span), () => this.#inTrace(work)));
  }

  #inTrace<T>(work: () => T): T {
    return this.trace === currentTrace() ? work() : runInTrace(this.trace, work);
  }

  /** The parent context of spans below this one. */
  asParent(): Context {
    return this.#span ? trace.setSpan(context.active(), this.#span) : context.active();
  }
}

/** The span when there is neither an SDK nor a trace of the client. */
const UNRECORDED = new OpenSpan({ trace: undefined, bounds: { left: 0, contents: false } });

/** The span inside which the current work is done. */
export function activeSpan(): OpenSpan | undefined {
  return open.getStore();
}

/** Whether the process has an SDK: the gateway's, or that of the application that embeds it. */
export function hasSdk(): boolean {
  return currentTracer() !== undefined;
}

/** Starts a span. The caller must end it. */
export function startSpan({ name, kind = 'internal', attributes = {}, root }: SpanOptions): OpenSpan {
  const parent = root ? root.trace : currentTrace();
  const tracer = currentTracer();
  if (!tracer && !parent) return UNRECORDED;
  const parentSpan = root ? undefined : activeSpan();
  const bounds = parentSpan?.bounds ?? { left: MAX_SPANS, contents: root?.contents ?? false };
  if (!tracer || bounds.left <= 0) return new OpenSpan({ trace: parent, bounds });
  bounds.left -= 1;
  const isChild = parentSpan && parentSpan.trace === parent;
  const parentContext = isChild ? parentSpan.asParent() : remoteContext(parent, { isRoot: root !== undefined });
  const span = tracer.startSpan(name, { kind: KINDS[kind], attributes: bounded(attributes) }, parentContext);
  return new OpenSpan({ span, trace: headersOf(span) ?? parent, bounds });
}

/** Does work inside a new span that ends with the work, and is marked as failed if the work throws. */
export function inSpan<T>(options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  const span = startSpan(options);
  // Without a root of its own, the work is in no trace already.
  return span === UNRECORDED && !options.root ? work(span) : traced(span, work);
}

async function traced<T>(span: OpenSpan, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  try {
    return await span.in(() => work(span));
  } catch (thrown) {
    span.fail(errorType(thrown));
    throw thrown;
  } finally {
    span.end();
  }
}

/** The `error.type` of a failure: its code, or the name of its class. */
export function errorType(thrown: unknown): string {
  if (thrown instanceof GatewayError) return thrown.code;
  return thrown instanceof Error ? thrown.name : 'unknown';
}

/** The trace of the active span of the application that embeds the gateway, if there is one. */
export function enclosingTrace(): TraceContext | undefined {
  const outer = trace.getActiveSpan();
  return outer && headersOf(outer);
}

function currentTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer(INSTRUMENTATION_SCOPE)
    : provider.getTracer(INSTRUMENTATION_SCOPE);
}

/** The context of a parent span in another process, from its trace headers. */
function remoteContext(parent: TraceContext | undefined, { isRoot }: { isRoot: boolean }): Context {
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
  const spanContext = span.spanContext();
  if (!isSpanContextValid(spanContext)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = spanContext;
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

function bounded(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > MAX_ATTRIBUTE_LENGTH ? value.slice(0, MAX_ATTRIBUTE_LENGTH) : value,
    ]),
  );
}
