import type { Attributes, Histogram, MeterProvider } from '@opentelemetry/api';
import { otel } from './otel-api.ts';
import { INSTRUMENTATION_SCOPE, type OpenSpan, startSpan } from './spans.ts';

/**
 * Model calls in the terms of OpenTelemetry's semantic conventions for generative AI: a span `chat {model}`, and the
 * metrics `gen_ai.client.operation.duration` and `gen_ai.client.token.usage` (docs/telemetry.md).
 */

/** The kinds of model call (`gen_ai.operation.name`). */
export type OperationName = 'chat' | 'embeddings' | 'text_completion' | 'generate_content';

export interface OperationOutcome {
  /** The provider that answered or, if none did, was called last, by its name in the configuration. */
  provider: string | undefined;
  /** The model as the provider names it, if it answered. */
  responseModel?: string | undefined;
  /** Usage of all attempts; estimated if no provider reported it. */
  usage(): { inputTokens: number; cachedTokens: number; outputTokens: number; reasoningTokens: number };
  /** The code or kind of the failure. */
  error?: string | undefined;
}

/** The boundaries that the conventions recommend, in seconds and in tokens. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** One call of a model, over however many routes. Its creator must `end` it. */
export class ModelOperation {
  readonly span: OpenSpan;
  readonly #name: OperationName;
  readonly #model: string;
  readonly #startedAt = performance.now();

  /** `model`: the name in the configuration. */
  constructor({ name, model, attributes }: { name: OperationName; model: string; attributes?: Attributes }) {
    this.#name = name;
    this.#model = model;
    const request = { 'gen_ai.operation.name': name, 'gen_ai.request.model': model };
    this.span = startSpan({ name: `${name} ${model}`, kind: 'client', attributes: { ...request, ...attributes } });
  }

  end({ provider, responseModel, usage: usageOf, error }: OperationOutcome): void {
    const { span } = this;
    const instruments = currentInstruments();
    if (!span.isRecorded && !instruments) {
      span.end();
      return;
    }
    const usage = usageOf();
    const response = {
      ...(provider !== undefined && { 'gen_ai.provider.name': provider }),
      ...(responseModel !== undefined && { 'gen_ai.response.model': responseModel }),
    };
    span.set({
      ...response,
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
      'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
    });
    if (error !== undefined) span.fail(error);
    span.end();
    const labels = { 'gen_ai.operation.name': this.#name, 'gen_ai.request.model': this.#model, ...response };
    if (!instruments) return;
    const { duration, tokens } = instruments;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    duration.record(seconds, { ...labels, ...(error !== undefined && { 'error.type': error }) });
    for (const [type, count] of [
      ['input', usage.inputTokens],
      ['output', usage.outputTokens],
    ] as const) {
      if (count > 0) tokens.record(count, { ...labels, 'gen_ai.token.type': type });
    }
  }
}

interface Instruments {
  duration: Histogram;
  tokens: Histogram;
}

/** Instruments by meter provider: an SDK may be registered after the first call. */
const instrumentsOf = new WeakMap<MeterProvider, Instruments>();

/** The instruments of the registered SDK; undefined if there is none. */
function currentInstruments(): Instruments | undefined {
  const provider = otel.metrics.getMeterProvider();
  const known = instrumentsOf.get(provider);
  if (known) return known;
  const meter = provider.getMeter(INSTRUMENTATION_SCOPE);
  if (meter === otel.createNoopMeter()) return undefined;
  const created = {
    duration: meter.createHistogram('gen_ai.client.operation.duration', {
      description: 'Duration of model calls, over all routes that were tried.',
      unit: 's',
      advice: { explicitBucketBoundaries: SECONDS },
    }),
    tokens: meter.createHistogram('gen_ai.client.token.usage', {
      description: 'Tokens of model calls, over all routes that were tried.',
      unit: '{token}',
      advice: { explicitBucketBoundaries: TOKENS },
    }),
  };
  instrumentsOf.set(provider, created);
  return created;
}
