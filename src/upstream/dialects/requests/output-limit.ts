import type { RefusedParameters } from './refused-parameters.ts';
import { type RefusedRequest, refuses, type Trait } from './trait.ts';

interface OutputLimit {
  /** Which field bounds the output of a chat completion. */
  outputLimitField: 'max_tokens' | 'max_completion_tokens';
  /** The model's output limit in tokens, where a refusal named it. */
  outputLimit: number | undefined;
}

/** A limit below this is not believed, in tokens. */
const MIN_LIMIT = 256;

/**
 * How the output is bounded: OpenAI's newer models refuse `max_tokens`, most others know nothing else, and some name the
 * largest value that they accept.
 */
export const outputLimit: Trait<OutputLimit, OutputLimit & RefusedParameters> = {
  start: () => ({ outputLimitField: 'max_tokens', outputLimit: undefined }),
  learn(refusal, traits) {
    if (learnLargestOutput(refusal, traits)) return true;
    const { text, body } = refusal;
    const field = traits.outputLimitField;
    if (!(field in body) || largestAllowed(text) !== undefined || !refuses(text, field)) return false;
    traits.refusedParameters.add(field);
    const other = field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    // Where both are refused, neither is sent.
    if (!traits.refusedParameters.has(other)) traits.outputLimitField = other;
    return true;
  },
  shape(request, { outputLimit: limit }) {
    const { maxOutputTokens: requested } = request;
    return requested === undefined || limit === undefined || requested <= limit
      ? request
      : { ...request, maxOutputTokens: limit };
  },
  shapeChat(body, { outputLimitField: field, refusedParameters: refused }) {
    const { max_tokens: limit } = body;
    delete body.max_tokens;
    if (limit !== undefined && !refused.has(field)) body[field] = limit;
  },
  findings: (learned, before) => [
    ...(learned.outputLimitField === before.outputLimitField ? [] : [`wants ${learned.outputLimitField}`]),
    ...(learned.outputLimit === undefined ? [] : [`at most ${learned.outputLimit} tokens of output`]),
  ],
};

/** Learns the output limit that a refusal names, including the refusal of a request that exceeds the context. */
export function learnLargestOutput({ text, body }: RefusedRequest, traits: OutputLimit): boolean {
  const allowed = largestAllowed(text);
  const requested = Number(body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens);
  if (allowed === undefined || allowed < MIN_LIMIT || !(allowed < requested)) return false;
  traits.outputLimit = allowed;
  return true;
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
  const found = WORDINGS.map((wording) => wording.exec(text)?.[1]).find((number) => number !== undefined);
  return found === undefined ? undefined : Number(found);
}
