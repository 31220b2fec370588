import type { RouteConfig } from '../config/schema.ts';
import type { RoutePrice, TurnUsage } from './turn.ts';

/** The cost of tokens. Prices are per million tokens, in `server.currency`. */

export const MILLION = 1_000_000;

/** The usage with its cost on a route, or marked `unpriced` where the route has no price. */
export function priced(usage: TurnUsage, price: RoutePrice | undefined): TurnUsage {
  const { inputTokens, cachedTokens, outputTokens, cacheWriteTokens = 0 } = usage;
  if (!price) return inputTokens + outputTokens > 0 ? { ...usage, unpriced: true } : usage;
  const written = Math.min(cacheWriteTokens, inputTokens - cachedTokens);
  const fresh = inputTokens - cachedTokens - written;
  const input =
    fresh * price.input +
    cachedTokens * (price.cached_input ?? price.input) +
    written * (price.cache_write ?? price.input);
  return { ...usage, cost: (input + outputTokens * price.output) / MILLION };
}

/** The highest input price and the highest output price of these routes; undefined where one of them has no price. */
export function highestPrice(routes: readonly RouteConfig[]): RoutePrice | undefined {
  return routes.every(({ price }) => price) ? highestKnownPrice(routes) : undefined;
}

/** As `highestPrice`, over only the routes that have a price; undefined where none has. */
export function highestKnownPrice(routes: readonly RouteConfig[]): RoutePrice | undefined {
  const prices = routes.flatMap(({ price }) => price ?? []);
  if (prices.length === 0) return undefined;
  return {
    input: Math.max(...prices.map(({ input, cache_write: write = 0 }) => Math.max(input, write))),
    output: Math.max(...prices.map(({ output }) => output)),
  };
}

/** What these tokens cost, with no discount for cached ones. */
export function costOf(price: RoutePrice, tokens: { input: number; output: number }): number {
  return (tokens.input * price.input + tokens.output * price.output) / MILLION;
}
