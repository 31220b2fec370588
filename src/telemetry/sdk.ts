import { randomUUID } from 'node:crypto';
import { type DiagLogger, DiagLogLevel, diag, metrics, trace } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import project from '../../package.json' with { type: 'json' };
import { abortable, withTimeout } from '../base/abort.ts';
import { isObject, parseJson } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { LONGEST_TEXT, SCOPE } from '../base/telemetry/spans.ts';
import type { GatewayConfig } from '../config/schema.ts';

/** How long one export may take with its repeats, in milliseconds. */
const EXPORT_MS = 5000;
/** How long the last exports may take when the gateway closes, in milliseconds. */
const FLUSH_MS = 2000;
/**
 * Ended spans that wait to be exported, where further ones are dropped, and those in one export. With what was said a span may
 * have 100 KB; collectors refuse what has more than 20 MB.
 */
const WAITING = {
  plain: { maxQueueSize: 4096, maxExportBatchSize: 512 },
  withContents: { maxQueueSize: 1024, maxExportBatchSize: 64 },
} as const;
/** Label sets of each metric; further ones are counted together. */
const MOST_LABEL_SETS = 1000;
/** Failures of exports are logged at most this often, in milliseconds. */
const LOG_EVERY_MS = 60_000;
/** The longest message of such a failure, in UTF-16 code units. */
const LONGEST_MESSAGE = 300;

/**
 * Registers tracer and meter of this process, until disposed. Exports are made beside all work, and fail alone.
 * `endpoint`: the base address of a collector that takes OTLP over HTTP.
 */
export function startSdk(
  endpoint: string,
  { headers, sample, contents }: Pick<GatewayConfig['telemetry'], 'headers' | 'sample' | 'contents'>,
  log: Logger,
): AsyncDisposable {
  const resource = resourceFromAttributes({
    'service.name': SCOPE,
    'service.version': project.version,
    'service.instance.id': randomUUID(),
  });
  const closed = new AbortController();
  const agent = { keepAlive: true, signal: closed.signal };
  const exporter = (path: string) => ({
    url: `${endpoint}${path}`,
    headers: { ...headers },
    timeoutMillis: EXPORT_MS,
    httpAgentOptions: agent,
  });
  const tracers = new TracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sample) }),
    spanLimits: { attributeCountLimit: 64, attributeValueLengthLimit: LONGEST_TEXT },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: untilClosed(new OTLPTraceExporter(exporter('/v1/traces')), closed.signal),
        ...(contents ? WAITING.withContents : WAITING.plain),
        exportTimeoutMillis: EXPORT_MS,
      }),
    ],
  });
  const meters = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: untilClosed(new OTLPMetricExporter(exporter('/v1/metrics')), closed.signal),
        exportTimeoutMillis: EXPORT_MS,
        cardinalityLimits: { default: MOST_LABEL_SETS },
      }),
    ],
  });
  diag.setLogger(rareLogger(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  trace.setGlobalTracerProvider(tracers);
  metrics.setGlobalMeterProvider(meters);
  return {
    async [Symbol.asyncDispose]() {
      const flush = () => Promise.allSettled([tracers.shutdown(), meters.shutdown()]);
      await withTimeout('the last export', FLUSH_MS, flush).catch(() => {
        log.warn('the collector was too slow to take the last spans and metrics');
      });
      trace.disable();
      metrics.disable();
      diag.disable();
      closed.abort();
    },
  };
}

type Done = Parameters<OTLPTraceExporter['export']>[1];

/**
 * Gives up what an exporter has under way once the SDK is closed, without logging it: the process has one logger for failed
 * exports, which by then may be another gateway's.
 */
function untilClosed<E extends { export(items: unknown, done: Done): void }>(exporter: E, closed: AbortSignal): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) => {
    const { promise, resolve } = Promise.withResolvers<Parameters<Done>[0]>();
    if (!closed.aborted) send(items, resolve);
    abortable(promise, closed).then(done, () => done({ code: 0 }));
  };
  return exporter;
}

/** Logs that a collector is away now and then, not with each batch. */
function rareLogger(log: Logger): DiagLogger {
  let nextAt = 0;
  let untold = 0;
  const tell = (message: string, ...more: unknown[]) => {
    untold += 1;
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + LOG_EVERY_MS;
    log.warn({ err: shortened([message, ...more].join(' ')), times: untold }, 'telemetry could not be exported');
    untold = 0;
  };
  const nothing = () => {};
  return { error: tell, warn: tell, info: nothing, debug: nothing, verbose: nothing };
}

/** Of a failure that the SDK has written as JSON, with its stack and the collector's answer, the message. */
function shortened(text: string): string {
  const failure = parseJson(text);
  const message = isObject(failure) ? (failure.message ?? failure.code ?? failure.name) : text;
  return String(message).slice(0, LONGEST_MESSAGE);
}
