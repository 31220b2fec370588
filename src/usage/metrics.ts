import { Counter, type Registry } from 'prom-client';
import type { Used } from '../upstream/used.ts';

/** Pairs of a key and a model that have metrics of their own; what comes then counts as `other`. */
const MOST_LABELS = 1000;

/** What keys use, in Prometheus' words. */
export class UsageMetrics {
  readonly #requests: Counter<'key' | 'model' | 'result'>;
  readonly #tokens: Counter<'key' | 'model' | 'type'>;
  readonly #cost: Counter<'key' | 'model'>;
  readonly #known = new Set<string>();

  constructor(registry: Registry) {
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new Counter<Label>({ name, help, labelNames, registers: [registry] });
    this.#requests = counter('gateway_usage_requests_total', 'Calls and runs that have ended, by key and model.', [
      'key',
      'model',
      'result',
    ]);
    const tokens = 'Tokens used by key and model: input, cached (of the input), output, reasoning (of the output).';
    this.#tokens = counter('gateway_usage_tokens_total', tokens, ['key', 'model', 'type']);
    const cost = 'What calls and runs cost by key and model, in server.currency, on routes with a price.';
    this.#cost = counter('gateway_usage_cost_total', cost, ['key', 'model']);
  }

  add(call: { key: string; model: string; used: Used; failed: boolean }): void {
    const { used, failed } = call;
    const { key, model } = this.#bounded(call);
    this.#requests.inc({ key, model, result: failed ? 'failed' : 'ok' });
    const types = {
      input: used.inputTokens,
      cached: used.cachedTokens,
      output: used.outputTokens,
      reasoning: used.reasoningTokens,
    };
    for (const [type, tokens] of Object.entries(types)) if (tokens > 0) this.#tokens.inc({ key, model, type }, tokens);
    if (used.cost > 0) this.#cost.inc({ key, model }, used.cost);
  }

  #bounded({ key, model }: { key: string; model: string }): { key: string; model: string } {
    const name = JSON.stringify([key, model]);
    if (this.#known.size >= MOST_LABELS && !this.#known.has(name)) return { key: 'other', model: 'other' };
    this.#known.add(name);
    return { key, model };
  }
}
