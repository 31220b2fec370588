import type { JsonObject } from '../../../base/json.ts';
import { type Lesson, type RequestTraits, refuses } from './traits.ts';

/** Parameters without which the request still means the same, or nearly so. */
const OPTIONAL = [
  'temperature',
  'top_p',
  'stream_options',
  'parallel_tool_calls',
  'tool_choice',
  'response_format',
  'prompt_cache_key',
  'include',
  'reasoning',
];

/** Other words by which a parameter is refused. */
const ALSO_CALLED: Readonly<Record<string, string>> = {
  stream_options: '(?:stream_options|include_usage)',
  include: '(?:include|encrypted content|encrypted_content)',
  reasoning: '(?:reasoning|reasoning summar(?:y|ies))',
};

/** Optional parameters that a provider refuses are left out from then on. */
export const learnRefusedParameters: Lesson = ({ text, body }, traits) => {
  const refused = OPTIONAL.filter(
    (name) =>
      name in body &&
      !traits.refusedParameters.has(name) &&
      (refuses(text, ALSO_CALLED[name] ?? name) || (name === 'reasoning' && /verified.{0,80}reasoning/i.test(text))),
  );
  for (const name of refused) traits.refusedParameters.add(name);
  return refused.length > 0;
};

/** Leaves out what was refused. A refused response format becomes a word of instruction. */
export function applyRefusedParameters(body: JsonObject, traits: RequestTraits): void {
  for (const name of traits.refusedParameters) if (OPTIONAL.includes(name)) delete body[name];
}

/** What stands in the instructions where the provider knows no `response_format`. */
export function formatInstruction(format: JsonObject): string {
  const schema = typeof format.json_schema === 'object' ? JSON.stringify(format.json_schema) : undefined;
  const what =
    schema === undefined ? 'a single JSON object' : `a single JSON value that follows this schema: ${schema}`;
  return `Answer with ${what}. Write nothing before or after it.`;
}
