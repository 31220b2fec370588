import { isObject, type JsonObject } from '../../../base/json.ts';
import { formatInstruction, withInstruction } from './instructions.ts';
import { refuses, type Trait } from './trait.ts';

export interface RefusedParameters {
  /** Top-level parameters that were refused. */
  refusedParameters: Set<string>;
}

/** Parameters that a request can do without, each with a pattern of the words in which it is refused. */
const OPTIONAL: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'top_p',
  // OpenAI lets accounts that are not verified use some models, but not "stream this model".
  // Some refusals quote the whole request, so the name of the parameter alone says nothing.
  stream: '(?:(?:param|body)\\W{1,6}stream|stream this model|(?<!(?:with|when|while|in|for) )streaming)',
  stream_options: '(?:stream_options|include_usage)',
  parallel_tool_calls: 'parallel_tool_calls',
  tool_choice: 'tool_choice',
  response_format: 'response_format',
  // In the Messages API, where the instructions say the same.
  output_config: '(?:output_config|output_format|structured outputs?)',
  verbosity: 'verbosity',
  prompt_cache_key: 'prompt_cache_key',
  logprobs: '(?:top_)?logprobs?',
  top_logprobs: '(?:top_)?logprobs?',
  include: '(?:include|encrypted content|encrypted_content)',
  reasoning: '(?:reasoning|reasoning summar(?:y|ies))',
};

/** Optional parameters that a provider refuses are left out from then on. */
export const refusedParameters: Trait<RefusedParameters> = {
  start: () => ({ refusedParameters: new Set() }),
  learn({ text, body }, { refusedParameters: known }) {
    const refused = Object.entries(OPTIONAL).filter(
      ([name, words]) =>
        isIn(body, name) &&
        !known.has(name) &&
        (refuses(text, words) || (name === 'reasoning' && /verified.{0,80}reasoning/i.test(text))),
    );
    for (const [name] of refused) known.add(name);
    return refused.length > 0;
  },
  /** A refused format becomes an instruction; tools are left out where `tool_choice: none` would be refused. */
  shape(request, { refusedParameters: refused }) {
    const { responseFormat, ...rest } = request;
    const shaped =
      responseFormat && refused.has('response_format')
        ? { ...rest, messages: withInstruction(rest.messages, formatInstruction(responseFormat)) }
        : request;
    return request.toolChoice === 'none' && refused.has('tool_choice') ? { ...shaped, tools: [] } : shaped;
  },
  shapeChat: dropRefused,
  findings({ refusedParameters: refused }, before) {
    const names = [...refused.difference(before.refusedParameters)];
    return names.length === 0 ? [] : [`refused: ${names.join(', ')}`];
  },
};

/** Whether a body has a parameter. The Responses API has `verbosity` inside `text`. */
function isIn(body: Readonly<Record<string, unknown>>, name: string): boolean {
  return name in body || (name === 'verbosity' && isObject(body.text) && name in body.text);
}

/** Removes refused parameters from a body of any wire. */
export function dropRefused(body: JsonObject, traits: RefusedParameters): void {
  for (const name of traits.refusedParameters) if (Object.hasOwn(OPTIONAL, name)) delete body[name];
  if (traits.refusedParameters.has('stream')) delete body.stream_options;
}
