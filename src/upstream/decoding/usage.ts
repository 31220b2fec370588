import { isObject } from '../../base/json.ts';
import type { TurnUsage } from '../turn.ts';

/**
 * Token counts as a provider reports them; undefined if it reports none. A completion count that excludes reasoning shows
 * in a larger total (xAI), or in more reasoning than completion (Gemini through gateways, whose total excludes it too).
 * `excludesReasoning`: the model is known to do the latter. The total is used only beside a prompt count, since it cannot
 * be split without one.
 */
export function readUsage(value: unknown, { excludesReasoning = false } = {}): TurnUsage | undefined {
  const counted = readCounts(value, excludesReasoning);
  return counted && billedBeside(value).reduce(addUsage, counted);
}

/** Rounds that Anthropic bills, although its totals are only those of the model's own. */
const BESIDE = new Set<unknown>(['compaction', 'advisor_message']);

function billedBeside(value: unknown): TurnUsage[] {
  const iterations = isObject(value) && Array.isArray(value.iterations) ? value.iterations : [];
  const others = iterations.filter((iteration) => isObject(iteration) && BESIDE.has(iteration.type));
  return others.flatMap((iteration) => readCounts(iteration, false) ?? []);
}

function readCounts(value: unknown, excludesReasoning: boolean): TurnUsage | undefined {
  if (!isObject(value)) return undefined;
  const inputTokens = count(value.prompt_tokens) ?? inputTokensOf(value) ?? 0;
  const completion = count(value.completion_tokens) ?? count(value.output_tokens);
  if (inputTokens === 0 && completion === undefined) return undefined;
  const total = inputTokens > 0 ? (count(value.total_tokens) ?? 0) : 0;
  const reasoning = reasoningTokens(value);
  const output = Math.max(completion ?? 0, total - inputTokens);
  const isExcluded = completion !== undefined && output === completion && (excludesReasoning || reasoning > completion);
  const outputTokens = isExcluded ? completion + reasoning : output;
  const cached = Math.min(inputTokens, cachedTokens(value));
  const written = Math.min(inputTokens - cached, writtenTokens(value));
  return {
    inputTokens,
    cachedTokens: cached,
    outputTokens,
    reasoningTokens: Math.min(outputTokens, reasoning),
    estimated: false,
    ...(written > 0 ? { cacheWriteTokens: written } : {}),
  };
}

/** As `readUsage`, for an API without output tokens, such as embeddings: all usage is input (Voyage, Jina: only a total). */
export function readInputUsage(value: unknown): TurnUsage | undefined {
  if (!isObject(value)) return undefined;
  const inputTokens = Math.max(count(value.total_tokens) ?? 0, count(value.prompt_tokens) ?? inputTokensOf(value) ?? 0);
  return inputTokens === 0 ? undefined : readUsage({ ...value, prompt_tokens: inputTokens, ...NO_OUTPUT });
}

const NO_OUTPUT = {
  completion_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  reasoning_tokens: 0,
  completion_tokens_details: null,
  output_tokens_details: null,
};

/** Whether a usage object shows that both the completion count and the total exclude reasoning. */
export function showsExcludedReasoning(value: unknown): boolean {
  if (!isObject(value)) return false;
  const completion = count(value.completion_tokens);
  const reasoning = reasoningTokens(value);
  if (completion === undefined || reasoning <= completion) return false;
  return readUsage(value)?.outputTokens === completion + reasoning;
}

/** Anthropic's `input_tokens` exclude what was read from the cache and written to it. */
function inputTokensOf(usage: Record<string, unknown>): number | undefined {
  const input = count(usage.input_tokens);
  const cached = (count(usage.cache_read_input_tokens) ?? 0) + (count(usage.cache_creation_input_tokens) ?? 0);
  return input === undefined ? undefined : input + cached;
}

/** Input written to the cache: OpenAI, OpenRouter; Anthropic. */
function writtenTokens(usage: Record<string, unknown>): number {
  return detail(usage, 'input', 'cache_write_tokens') ?? count(usage.cache_creation_input_tokens) ?? 0;
}

function cachedTokens(usage: Record<string, unknown>): number {
  // DeepSeek, Moonshot.
  const plain = count(usage.prompt_cache_hit_tokens) ?? count(usage.cached_tokens);
  return detail(usage, 'input', 'cached_tokens') ?? plain ?? count(usage.cache_read_input_tokens) ?? 0;
}

function reasoningTokens(usage: Record<string, unknown>): number {
  // SGLang, Perplexity.
  return detail(usage, 'output', 'reasoning_tokens') ?? count(usage.reasoning_tokens) ?? 0;
}

/** A detail count, as chat completions or the Responses API name it. */
function detail(usage: Record<string, unknown>, of: 'input' | 'output', name: string): number | undefined {
  const chat = of === 'input' ? usage.prompt_tokens_details : usage.completion_tokens_details;
  const details = isObject(chat) ? chat : usage[`${of}_tokens_details`];
  return isObject(details) ? count(details[name]) : undefined;
}

/** No turn has more tokens than this: a larger count is ignored, so that it cannot exhaust a key's daily limit. */
const MAX_TOKENS = 100_000_000;

function count(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && number >= 0 && number <= MAX_TOKENS ? Math.round(number) : undefined;
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
    ...(a.unpriced || b.unpriced ? { unpriced: true } : {}),
  };
}

function sum(field: 'cacheWriteTokens' | 'cost', a: TurnUsage, b: TurnUsage): Partial<TurnUsage> {
  if (a[field] === undefined && b[field] === undefined) return {};
  return { [field]: (a[field] ?? 0) + (b[field] ?? 0) };
}
