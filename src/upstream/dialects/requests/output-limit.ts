import type { JsonObject } from '../../../base/json.ts';
import { type Lesson, type RequestTraits, refuses } from './traits.ts';

/** The least output that is worth asking for. */
const LEAST = 256;

/** The largest output that the provider named in its refusal. */
export const learnLargestOutput: Lesson = ({ text, body }, traits) => {
  const allowed = largestAllowed(text);
  const asked = Number(body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens);
  if (allowed === undefined || allowed < LEAST || !(allowed < asked)) return false;
  traits.outputLimit = allowed;
  return true;
};

/**
 * How the output is bounded: OpenAI's newer models refuse `max_tokens`, most others know nothing else, and some name
 * the largest value they take.
 */
export const learnOutputLimit: Lesson = (refusal, traits) => {
  if (learnLargestOutput(refusal, traits)) return true;
  const { text, body } = refusal;
  const field = traits.outputLimitField;
  if (!(field in body) || largestAllowed(text) !== undefined || !refuses(text, field)) return false;
  traits.refusedParameters.add(field);
  const other = field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  // Both refused: then none is sent.
  if (!traits.refusedParameters.has(other)) traits.outputLimitField = other;
  return true;
};

export function applyOutputLimit(body: JsonObject, limit: number | undefined, traits: RequestTraits): void {
  if (limit === undefined || traits.refusedParameters.has(traits.outputLimitField)) return;
  body[traits.outputLimitField] = Math.min(limit, traits.outputLimit ?? limit);
}

/** The bound in the field of another wire, which is always sent. */
export function applyOutputBound(
  body: JsonObject,
  field: string,
  limit: number | undefined,
  traits: RequestTraits,
): void {
  if (limit !== undefined) body[field] = Math.min(limit, traits.outputLimit ?? limit);
}

const WORDINGS: readonly RegExp[] = [
  // OpenAI: "max_tokens is too large: 100000. This model supports at most 16384 completion tokens".
  /supports at most (\d+) (?:completion|output) tokens/i,
  // Anthropic behind a proxy: "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens".
  /max_(?:completion_|output_)?tokens\b.{0,20}> (\d+),? which is the maximum/i,
  // Groq, Qwen, DeepSeek: "must be less than or equal to 32768", "Range of max_tokens should be [1, 8192]".
  /max_(?:completion_|output_)?tokens\b.{0,60}(?:less than or equal to|<=|at most|no more than|not exceed|maximum(?: value)?(?: is| of)?) `?(\d+)/i,
  /max_(?:completion_|output_)?tokens\b.{0,40}\[\d+, ?(\d+)\]/i,
];

function largestAllowed(text: string): number | undefined {
  for (const wording of WORDINGS) {
    const found = wording.exec(text)?.[1];
    if (found !== undefined) return Number(found);
  }
  return undefined;
}
