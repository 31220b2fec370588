import { GatewayError, messageOf } from '../../../base/errors.ts';
import { isObject, parseJson } from '../../../base/json.ts';
import type { TextFormat } from '../../../protocol/request-formats.ts';
import { compileSchema } from './json-schema.ts';
import { validateApart } from './validate-apart.ts';

/** A format in which the answer is one JSON value. */
export type StructuredFormat = Exclude<TextFormat, { type: 'text' }>;

/** An answer that was checked: the JSON text to show, or what is wrong with it in words for the model. */
export type Checked = { text: string } | { problem: string };

/** The largest schema, in UTF-16 code units. */
const MAX_SCHEMA = 100_000;

/**
 * The check for answers of a format.
 * @throws GatewayError `invalid_parameter` naming the schema, where it is none.
 */
export function answerCheck(
  format: StructuredFormat,
  param = 'text.format.schema',
): (answer: string, options: { signal: AbortSignal }) => Promise<Checked> {
  if (format.type === 'json_schema') refuseBadSchema(format.schema, param);
  return async (answer, { signal }) => {
    const text = jsonIn(answer);
    const value = text === undefined ? undefined : parseJson(text);
    if (text === undefined || value === undefined) return { problem: 'it is not valid JSON' };
    const problem =
      format.type === 'json_schema'
        ? await validateApart({ schema: format.schema, value }, { signal })
        : isObject(value)
          ? undefined
          : 'it is not a JSON object';
    return problem === undefined ? { text } : { problem };
  };
}

function refuseBadSchema(schema: Record<string, unknown>, param: string): void {
  const refuse = (what: string, cause?: unknown) =>
    new GatewayError('invalid_parameter', `${param}: ${what}.`, { param, cause });
  if (JSON.stringify(schema).length > MAX_SCHEMA) throw refuse(`must be at most ${MAX_SCHEMA} characters as JSON`);
  try {
    compileSchema(schema);
  } catch (error) {
    throw refuse(`is no valid JSON Schema (${messageOf(error)})`, error);
  }
}

/** The JSON in a message: models like to put it into a code fence or a sentence. */
function jsonIn(answer: string): string | undefined {
  const fenced = /```(?:json)?\s*([\s\S]*?)```/i.exec(answer)?.[1] ?? '';
  const from = answer.search(/[[{]/);
  const to = Math.max(answer.lastIndexOf('}'), answer.lastIndexOf(']'));
  const inside = from !== -1 && to > from ? answer.slice(from, to + 1) : '';
  return [answer, fenced, inside].map((text) => text.trim()).find((text) => parseJson(text) !== undefined);
}
