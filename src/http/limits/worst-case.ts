import type { ProxyModelConfig } from '../../config/schema.ts';
import { ATTACHMENT_TOKENS, attachmentsIn, BYTES_PER_TOKEN, formTokens } from '../../upstream/decoding/estimate.ts';
import { numbersIn, requestedAnswers } from '../../upstream/decoding/requested-answers.ts';

/** The most tokens that a request may use, which is what it reserves of its key's limits. */
export interface WorstCase {
  input: number;
  output: number;
}

/** APIs whose answers are tokens, and the parameters that bound them there: providers ignore those of other APIs. */
const BOUNDS: Readonly<Record<string, readonly string[]>> = {
  chat_completions: ['max_completion_tokens', 'max_tokens'],
  completions: ['max_tokens'],
  responses: ['max_output_tokens'],
  messages: ['max_tokens'],
};

/** Tokens of the largest image, as gpt-image-1 counts them. */
const IMAGE_TOKENS = 6240;
/** No provider makes more images in one call. */
const MAX_IMAGES = 10;

/** The worst case of a request with this body and a single answer of `output` tokens. */
export function worstCaseOfAnswer(
  { raw, json }: { raw: Buffer; json: Readonly<Record<string, unknown>> },
  output: number,
): WorstCase {
  const attached = attachmentsIn(json);
  const textBytes = Math.max(0, raw.length - attached.bytes);
  return { input: Math.ceil(textBytes / BYTES_PER_TOKEN) + attached.count * ATTACHMENT_TOKENS, output };
}

/**
 * The worst case of a request for a proxy model: its prompt, once for each route that may be called at the same time, and
 * all answers that it requests at their full length. Routes that are called one after the other count once. `fields`: the
 * parsed body; undefined for a form.
 */
export function worstCase(
  { api, body, fields }: { api: string; body: Buffer; fields: Readonly<Record<string, unknown>> | undefined },
  model: Pick<ProxyModelConfig, 'max_completion_tokens' | 'hedge_after' | 'continue_streams' | 'routes'>,
): WorstCase {
  if (!fields) return { input: formTokens(body.length), output: 0 };
  const { input } = worstCaseOfAnswer({ raw: body, json: fields }, 0);
  const readers = model.hedge_after === undefined && !model.continue_streams ? 1 : model.routes.length;
  if (api.startsWith('images/')) {
    const images = Math.min(MAX_IMAGES, Math.max(1, ...numbersIn(fields, ['n'])));
    return { input: input * readers, output: IMAGE_TOKENS * images };
  }
  const bounds = Object.hasOwn(BOUNDS, api) ? BOUNDS[api] : undefined;
  if (!bounds) return { input: input * readers, output: 0 };
  const longest = longestAnswer(fields, bounds, model.max_completion_tokens);
  return { input: input * readers, output: longest * requestedAnswers(api, fields) };
}

/** The largest bound that the request sets for an answer; `max` if it sets none, or one that bounds nothing. */
function longestAnswer(fields: Readonly<Record<string, unknown>>, names: readonly string[], max: number): number {
  const bounds = numbersIn(fields, names);
  if (bounds.length === 0) return max;
  return Math.max(...bounds.map((bound) => (bound >= 1 && Number.isFinite(bound) ? bound : max)));
}
