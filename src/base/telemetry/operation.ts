import { type Attributes, createNoopMeter, type Histogram, type MeterProvider, metrics } from '@opentelemetry/api';
import { type OpenSpan, SCOPE, startSpan } from './spans.ts';

/**
 * Calls of models in the words of OpenTelemetry's conventions for generative AI: a span `chat {model}`, and the metrics
 * `gen_ai.client.operation.duration` and `gen_ai.client.token.usage` (docs/telemetry.md).
 */

/** What a call of a model does, in the words of the conventions. */
export type OperationName = 'chat' | 'embeddings' | 'text_completion' | 'generate_content';

export interface OperationEnd {
  /** The provider that answered, or else was asked last, by its name in the configuration. */
  provider: string | undefined;
  /** The provider's name of the model, where it answered. */
  responseModel?: string | undefined;
  /** Over all attempts; estimated where no provider told. */
  usage(): { inputTokens: number; cachedTokens: number; outputTokens: number; reasoningTokens: number };
  /** Code or kind of the failure. */
  error?: string | undefined;
}

/** The boundaries that the conventions recommend, in seconds and in tokens. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** One call of a model, over however many routes. Whoever makes it ends it. */
export class Operation {
  readonly span: OpenSpan;
  readonly #name: OperationName;
  readonly #model: string;
  readonly #startedAt = performance.now();

  /** `model`: its name in the configuration. */
  constructor({ name, model, attributes }: { name: OperationName; model: string; attributes?: Attributes }) {
    this.#name = name;
    this.#model = model;
    const named = { 'gen_ai.operation.name': name, 'gen_ai.request.model': model };
    this.span = startSpan({ name: `${name} ${model}`, kind: 'client', attributes: { ...named, ...attributes } });
  }

  end({ provider, responseModel, usage: used, error }: OperationEnd): void {
    const { span } = this;
    const measured = instruments();
    if (!span.isRecorded && !measured) {
      span.end();
      return;
    }
    const usage = used();
    const answered = {
      ...(provider !== undefined && { 'gen_ai.provider.name': provider }),
      ...(responseModel !== undefined && { 'gen_ai.response.model': responseModel }),
    };
    span.set({
      ...answered,
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
      'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
    });
    if (error !== undefined) span.fail(error);
    span.end();
    const labels = { 'gen_ai.operation.name': this.#name, 'gen_ai.request.model': this.#model, ...answered };
    if (!measured) return;
    const { duration, tokens } = measured;
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

/** Those of each provider of metrics that was there: an SDK may be registered after the first call. */
const known = new WeakMap<MeterProvider, Instruments>();

/** Undefined where nobody measures. */
function instruments(): Instruments | undefined {
  const provider = metrics.getMeterProvider();
  const found = known.get(provider);
  if (found) return found;
  const meter = provider.getMeter(SCOPE);
  if (meter === createNoopMeter()) return undefined;
  const made = {
    duration: meter.createHistogram('gen_ai.client.operation.duration', {
      description: 'Time of calls of models, over all routes that were asked.',
      unit: 's',
      advice: { explicitBucketBoundaries: SECONDS },
    }),
    tokens: meter.createHistogram('gen_ai.client.token.usage', {
      description: 'Tokens of calls of models, over all routes that were asked.',
      unit: '{token}',
      advice: { explicitBucketBoundaries: TOKENS },
    }),
  };
  known.set(provider, made);
  return made;
}
