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
import { INSTRUMENTATION_SCOPE, MAX_ATTRIBUTE_LENGTH } from '../base/telemetry/spans.ts';
import type { GatewayConfig } from '../config/schema.ts';

/** How long one export may take with its retries, in milliseconds. */
const EXPORT_MS = 5000;
/** How long the last exports may take when the gateway closes, in milliseconds. */
const FLUSH_MS = 2000;
/**
 * How many ended spans may wait (further ones are dropped), and how many go in one export. With contents a span may have
 * 100 KB, and collectors refuse more than 20 MB.
 */
const SPAN_BATCHES = {
  plain: { maxQueueSize: 4096, maxExportBatchSize: 512 },
  withContents: { maxQueueSize: 1024, maxExportBatchSize: 64 },
} as const;
/** How many label sets a metric may have; further ones are counted together. */
const MAX_LABEL_SETS = 1000;
/** Failures of exports are logged at most this often, in milliseconds. */
const LOG_EVERY_MS = 60_000;
/** The maximum length of a failure's message, in UTF-16 code units. */
const MAX_MESSAGE = 300;

/**
 * Registers the tracer and the meter of this process, until disposed. Exports run in the background, and their failures
 * affect nothing else. `endpoint`: the base URL of a collector that takes OTLP over HTTP.
 */
export function startSdk(
  endpoint: string,
  { headers, sample, contents }: Pick<GatewayConfig['telemetry'], 'headers' | 'sample' | 'contents'>,
  log: Logger,
): AsyncDisposable {
  const resource = resourceFromAttributes({
    'service.name': INSTRUMENTATION_SCOPE,
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
    spanLimits: { attributeCountLimit: 64, attributeValueLengthLimit: MAX_ATTRIBUTE_LENGTH },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: abandonOnClose(new OTLPTraceExporter(exporter('/v1/traces')), closed.signal),
        ...(contents ? SPAN_BATCHES.withContents : SPAN_BATCHES.plain),
        exportTimeoutMillis: EXPORT_MS,
      }),
    ],
  });
  const meters = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: abandonOnClose(new OTLPMetricExporter(exporter('/v1/metrics')), closed.signal),
        exportTimeoutMillis: EXPORT_MS,
        cardinalityLimits: { default: MAX_LABEL_SETS },
      }),
    ],
  });
  diag.setLogger(throttledLogger(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
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
 * Abandons an exporter's requests once the SDK is closed, without logging: the process has one logger for failed exports,
 * which by then may belong to another gateway.
 */
function abandonOnClose<E extends { export(items: unknown, done: Done): void }>(exporter: E, closed: AbortSignal): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) => {
    const { promise, resolve } = Promise.withResolvers<Parameters<Done>[0]>();
    if (!closed.aborted) send(items, resolve);
    abortable(promise, closed).then(done, () => done({ code: 0 }));
  };
  return exporter;
}

/** Logs now and then that the collector is away, not for each batch. */
function throttledLogger(log: Logger): DiagLogger {
  let nextAt = 0;
  let failures = 0;
  const warn = (message: string, ...details: unknown[]) => {
    failures += 1;
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + LOG_EVERY_MS;
    const err = failureMessage([message, ...details].join(' '));
    log.warn({ err, times: failures }, 'telemetry could not be exported');
    failures = 0;
  };
  const ignore = () => {};
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
}

/** The message of a failure, which the SDK logs as JSON with its stack and the collector's answer. */
function failureMessage(text: string): string {
  const failure = parseJson(text);
  const message = isObject(failure) ? (failure.message ?? failure.code ?? failure.name) : text;
  return String(message).slice(0, MAX_MESSAGE);
}
