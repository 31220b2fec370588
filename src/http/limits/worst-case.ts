import type { ProxyModelConfig } from '../../config/schema.ts';
import { askedAnswers, numbersIn } from '../../upstream/decoding/asked-answers.ts';
import { ATTACHMENT_TOKENS, attachmentsIn, BYTES_A_TOKEN, formTokens } from '../../upstream/decoding/estimate.ts';

/** The most tokens that a request may use, before that is known: what is reserved of its key's limits. */
export interface WorstCase {
  input: number;
  output: number;
}

/** APIs whose answers are tokens, and what bounds them there: a provider leaves out what bounds answers elsewhere. */
const BOUNDS: Readonly<Record<string, readonly string[]>> = {
  chat_completions: ['max_completion_tokens', 'max_tokens'],
  completions: ['max_tokens'],
  responses: ['max_output_tokens'],
  messages: ['max_tokens'],
};

/** Tokens of the largest picture that models draw, as gpt-image-1 counts them. */
const PICTURE_TOKENS = 6240;
/** No provider draws more at once. */
const MAX_PICTURES = 10;

/** A request with this body and one answer of so many tokens. `fields`: the body as it was read. */
export function worstCaseOfAnswer(
  { raw, json }: { raw: Buffer; json: Readonly<Record<string, unknown>> },
  output: number,
): WorstCase {
  const attached = attachmentsIn(json);
  const read = Math.max(0, raw.length - attached.bytes);
  return { input: Math.ceil(read / BYTES_A_TOKEN) + attached.count * ATTACHMENT_TOKENS, output };
}

/**
 * A request on a proxy model: its prompt, for each route that may read it at the same time, and as many answers as it
 * asks for, each as long as it may be. Routes that are asked one after the other are not reserved for. `fields`: the request,
 * undefined where it is a form.
 */
export function worstCase(
  { api, body, fields }: { api: string; body: Buffer; fields: Readonly<Record<string, unknown>> | undefined },
  model: Pick<ProxyModelConfig, 'max_completion_tokens' | 'hedge_after' | 'continue_streams' | 'routes'>,
): WorstCase {
  if (!fields) return { input: formTokens(body.length), output: 0 };
  const { input } = worstCaseOfAnswer({ raw: body, json: fields }, 0);
  const readers = model.hedge_after === undefined && !model.continue_streams ? 1 : model.routes.length;
  if (api.startsWith('images/')) {
    const pictures = Math.min(MAX_PICTURES, Math.max(1, ...numbersIn(fields, ['n'])));
    return { input: input * readers, output: PICTURE_TOKENS * pictures };
  }
  const bounds = Object.hasOwn(BOUNDS, api) ? BOUNDS[api] : undefined;
  if (!bounds) return { input: input * readers, output: 0 };
  const longest = longestAnswer(fields, bounds, model.max_completion_tokens);
  return { input: input * readers, output: longest * askedAnswers(api, fields) };
}

/** The largest bound of an answer that the request gives; `most` where it gives none, or one that bounds nothing. */
function longestAnswer(fields: Readonly<Record<string, unknown>>, names: readonly string[], most: number): number {
  const bounds = numbersIn(fields, names);
  if (bounds.length === 0) return most;
  return Math.max(...bounds.map((bound) => (bound >= 1 && Number.isFinite(bound) ? bound : most)));
}
