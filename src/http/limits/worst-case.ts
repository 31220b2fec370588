import type { ProxyModelConfig } from '../../config/schema.ts';
import { BYTES_A_TOKEN, formTokens } from '../../upstream/decoding/estimate.ts';

/** The most tokens that a request may use, before that is known: what is reserved of its key's limits. */
export interface WorstCase {
  input: number;
  output: number;
}

/** APIs whose answers are tokens. */
const ANSWERING = new Set(['chat_completions', 'completions', 'responses', 'messages']);
/** How many answers a request may ask for in each of the two ways. Providers allow 128 at most. */
const MOST_ANSWERS = 1024;
const BOUNDS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'];

/** A request with a body of so many bytes and one answer of so many tokens. */
export function oneAnswer(body: Buffer, output: number): WorstCase {
  return { input: Math.ceil(body.length / BYTES_A_TOKEN), output };
}

/**
 * A request on a proxy model: its prompt, for each route that may read it at the same time, and as many answers as it
 * asks for, each as long as it may be. Routes that are asked one after the other are not reserved for. `fields`: the request, empty where it is a form.
 */
export function worstCase(
  { api, body, fields }: { api: string; body: Buffer; fields: Readonly<Record<string, unknown>> | undefined },
  model: Pick<ProxyModelConfig, 'max_completion_tokens' | 'hedge_after' | 'continue_streams' | 'routes'>,
): WorstCase {
  const { input } = oneAnswer(body, 0);
  const readers = model.hedge_after === undefined && !model.continue_streams ? 1 : model.routes.length;
  if (!fields) return { input: formTokens(body.length), output: 0 };
  if (!ANSWERING.has(api)) return { input: input * readers, output: 0 };
  const bounds = BOUNDS.flatMap((name) => positive(fields[name]) ?? []);
  const longest = bounds.length > 0 ? Math.max(...bounds) : model.max_completion_tokens;
  return { input: input * readers, output: longest * answersOf(api, fields) };
}

/** Answers that are made, though fewer may be sent: `best_of`, and one for each of several prompts. */
function answersOf(api: string, { n, best_of: bestOf, prompt }: Readonly<Record<string, unknown>>): number {
  if (api !== 'chat_completions' && api !== 'completions') return 1;
  const each = Math.min(MOST_ANSWERS, Math.max(positive(n) ?? 1, positive(bestOf) ?? 1));
  // A list of numbers is one prompt that its client has taken apart.
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1;
  return each * Math.min(MOST_ANSWERS, Math.max(1, prompts));
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 1 && Number.isSafeInteger(value) ? value : undefined;
}
