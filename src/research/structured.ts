import { runInNewContext } from 'node:vm';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { GatewayError, messageOf } from '../base/errors.ts';
import { isObject, type JsonValue, parseJson } from '../base/json.ts';
import type { TextFormat } from '../protocol/request-formats.ts';

/** A format in which the answer is one JSON value. */
export type StructuredFormat = Exclude<TextFormat, { type: 'text' }>;

/** An answer that was checked: the JSON text to show, or what is wrong with it in words for the model. */
export type Checked = { text: string } | { problem: string };

/** The largest schema, in UTF-16 code units. */
const MAX_SCHEMA = 100_000;
/** A pattern in a client's schema may not hold the gateway up for longer, in milliseconds. */
const CHECK_MS = 1000;

/**
 * The check for answers of a format.
 * @throws GatewayError `invalid_parameter` naming the schema, where it is none.
 */
export function answerCheck(format: StructuredFormat, param = 'text.format.schema'): (answer: string) => Checked {
  const validate = format.type === 'json_schema' ? compile(format.schema, param) : objectOnly;
  return (answer) => {
    const text = jsonIn(answer);
    const value = parseJson(text);
    if (value === undefined) return { problem: 'it is not valid JSON' };
    const problem = validate(value);
    return problem === undefined ? { text } : { problem };
  };
}

function compile(schema: Record<string, unknown>, param: string): (value: JsonValue) => string | undefined {
  if (JSON.stringify(schema).length > MAX_SCHEMA) {
    throw new GatewayError('invalid_parameter', `${param}: must be at most ${MAX_SCHEMA} characters as JSON.`, {
      param,
    });
  }
  try {
    const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });
    ajvFormats.default(ajv);
    const validate = ajv.compile(schema);
    return (value) => {
      if (bounded(() => validate(value))) return undefined;
      return ajv.errorsText(validate.errors, { dataVar: 'answer' }).slice(0, 2000);
    };
  } catch (error) {
    throw new GatewayError('invalid_parameter', `${param}: is no valid JSON Schema (${messageOf(error)}).`, {
      param,
      cause: error,
    });
  }
}

/** Runs a check that a client's pattern could make endless. */
function bounded(check: () => boolean): boolean {
  return runInNewContext('check()', { check }, { timeout: CHECK_MS }) === true;
}

function objectOnly(value: JsonValue): string | undefined {
  return isObject(value) ? undefined : 'it is not a JSON object';
}

/** The JSON in a message: models like to put it into a code fence or a sentence. */
function jsonIn(answer: string): string {
  const fenced = /```(?:json)?\s*([\s\S]*?)```/.exec(answer)?.[1] ?? answer;
  const trimmed = fenced.trim();
  if (parseJson(trimmed) !== undefined) return trimmed;
  const from = trimmed.search(/[[{]/);
  const to = Math.max(trimmed.lastIndexOf('}'), trimmed.lastIndexOf(']'));
  return from !== -1 && to > from ? trimmed.slice(from, to + 1) : trimmed;
}
