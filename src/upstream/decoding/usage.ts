import { isObject } from '../../base/json.ts';
import type { RoutePrice, TurnUsage } from '../turn.ts';

/**
 * Token counts in a provider's words, or undefined where there are none. Providers that count reasoning beside the
 * completion tell so by a larger total (xAI), or by more reasoning than completion (Gemini through gateways, whose total
 * leaves it out). `reasoningBeside`: it is known of the model that it does the latter.
 */
export function readUsage(value: unknown, { reasoningBeside = false } = {}): TurnUsage | undefined {
  if (!isObject(value)) return undefined;
  const input = count(value.prompt_tokens) ?? count(value.input_tokens);
  const completion = count(value.completion_tokens) ?? count(value.output_tokens);
  const total = count(value.total_tokens);
  if (input === undefined && completion === undefined && total === undefined) return undefined;
  const inputTokens = input ?? 0;
  const reasoning = reasoningTokens(value);
  const told = Math.max(completion ?? 0, (total ?? 0) - inputTokens);
  const isBeside = completion !== undefined && told === completion && (reasoningBeside || reasoning > completion);
  const outputTokens = isBeside ? completion + reasoning : told;
  return {
    inputTokens,
    cachedTokens: Math.min(inputTokens, cachedTokens(value)),
    outputTokens,
    reasoningTokens: Math.min(outputTokens, reasoning),
    estimated: false,
  };
}

/** Whether a usage object shows that its reasoning is not within the completion, and that the total leaves it out. */
export function showsReasoningBeside(value: unknown): boolean {
  const plain = readUsage(value);
  if (!plain || !isObject(value)) return false;
  const completion = count(value.completion_tokens);
  return (
    completion !== undefined &&
    plain.outputTokens === completion + reasoningTokens(value) &&
    reasoningTokens(value) > completion
  );
}

function cachedTokens(usage: Record<string, unknown>): number {
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : usage.input_tokens_details;
  const detailed = isObject(details) ? count(details.cached_tokens) : undefined;
  // DeepSeek, Moonshot.
  return detailed ?? count(usage.prompt_cache_hit_tokens) ?? count(usage.cached_tokens) ?? 0;
}

function reasoningTokens(usage: Record<string, unknown>): number {
  const details = isObject(usage.completion_tokens_details)
    ? usage.completion_tokens_details
    : usage.output_tokens_details;
  const detailed = isObject(details) ? count(details.reasoning_tokens) : undefined;
  // SGLang, Perplexity.
  return detailed ?? count(usage.reasoning_tokens) ?? 0;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;
}

/** The sum of two counts; estimated if either is. */
export function addUsage(a: TurnUsage, b: TurnUsage): TurnUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    estimated: a.estimated || b.estimated,
    ...sum('cacheWriteTokens', a, b),
    ...sum('cost', a, b),
  };
}

function sum(field: 'cacheWriteTokens' | 'cost', a: TurnUsage, b: TurnUsage): Partial<TurnUsage> {
  if (a[field] === undefined && b[field] === undefined) return {};
  return { [field]: (a[field] ?? 0) + (b[field] ?? 0) };
}

const MILLION = 1_000_000;

/** The tokens with what they cost on a route that has a price. */
export function priced(usage: TurnUsage, price: RoutePrice | undefined): TurnUsage {
  if (!price) return usage;
  const fresh = usage.inputTokens - usage.cachedTokens;
  const cached = usage.cachedTokens * (price.cached_input ?? price.input);
  return { ...usage, cost: (fresh * price.input + cached + usage.outputTokens * price.output) / MILLION };
}
