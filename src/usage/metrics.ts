import type { Registry } from 'prom-client';
import { DeferredCounter } from '../base/telemetry/deferred-counter.ts';
import type { UsageTotals } from '../upstream/usage-totals.ts';

/** How many pairs of key and model have labels of their own; further ones count as `other`. */
const MAX_LABEL_PAIRS = 1000;

/** Prometheus metrics of what keys use. */
export class UsageMetrics {
  readonly #requests: DeferredCounter;
  readonly #tokens: DeferredCounter;
  readonly #cost: DeferredCounter;
  readonly #known = new Set<string>();

  constructor(registry: Registry) {
    const tally = (name: string, help: string, labelNames: string[]) =>
      new DeferredCounter({ name, help, labelNames, registry });
    const calls = 'Calls and runs that have ended, by key and model.';
    this.#requests = tally('gateway_usage_requests_total', calls, ['key', 'model', 'result']);
    const tokens = 'Tokens used by key and model: input, cached (of the input), output, reasoning (of the output).';
    this.#tokens = tally('gateway_usage_tokens_total', tokens, ['key', 'model', 'type']);
    const cost = 'What calls and runs cost by key and model, in server.currency, on routes with a price.';
    this.#cost = tally('gateway_usage_cost_total', cost, ['key', 'model']);
  }

  add(call: { key: string; model: string; used: UsageTotals; failed: boolean }): void {
    const { used, failed } = call;
    const hasLabels = this.#hasLabels(call.key, call.model);
    const [key, model] = hasLabels ? [call.key, call.model] : ['other', 'other'];
    this.#requests.add(1, key, model, failed ? 'failed' : 'ok');
    if (used.inputTokens > 0) this.#tokens.add(used.inputTokens, key, model, 'input');
    if (used.cachedTokens > 0) this.#tokens.add(used.cachedTokens, key, model, 'cached');
    if (used.outputTokens > 0) this.#tokens.add(used.outputTokens, key, model, 'output');
    if (used.reasoningTokens > 0) this.#tokens.add(used.reasoningTokens, key, model, 'reasoning');
    if (used.cost > 0) this.#cost.add(used.cost, key, model);
  }

  #hasLabels(key: string, model: string): boolean {
    const pair = `${key}\n${model}`;
    if (this.#known.size < MAX_LABEL_PAIRS) this.#known.add(pair);
    return this.#known.has(pair);
  }
}
