import { linkSignals, TimeoutError } from '../../../base/abort.ts';
import { GatewayError } from '../../../base/errors.ts';
import { isObject, type JsonValue, parseJson } from '../../../base/json.ts';
import type { TextFormat } from '../../../protocol/requests/request-formats.ts';
import { schemaExcess } from './schema-bounds.ts';
import type { SchemaChecker, SchemaJob, SchemaVerdict } from './schema-job.ts';

/** A format in which the answer is one JSON value. */
export type StructuredFormat = Exclude<TextFormat, { type: 'text' }>;

/** The result of a check: the JSON text to send, or what is wrong with it in words for the model. */
export type CheckResult = { text: string } | { problem: string };

/**
 * Refuses an unusable schema when the request arrives, not when the answer is there.
 * @throws GatewayError `invalid_parameter` naming the schema; `overloaded`; the signal's reason.
 */
export async function requireUsableSchema(
  format: StructuredFormat,
  { param, schemas, signal }: { param: string; schemas: SchemaChecker; signal: AbortSignal },
): Promise<void> {
  if (format.type !== 'json_schema') return;
  const { schema } = format;
  const refuse = (what: string) => new GatewayError('invalid_parameter', `${param}: ${what}.`, { param });
  const excess = schemaExcess(schema);
  if (excess !== undefined) throw refuse(excess);
  const verdict = await checkedInTime(schema, { schemas, signal });
  if (verdict.is === 'costly') throw refuse('takes too much time or memory to compile: make it simpler');
  if (verdict.is !== 'valid') throw refuse(`is not a valid JSON Schema (${verdict.problem})`);
}

/** How long a request waits for the check of its schema, in milliseconds. Answers wait as long as their run may take. */
const WAIT_MS = 15_000;

async function checkedInTime(
  schema: SchemaJob['schema'],
  { schemas, signal }: { schemas: SchemaChecker; signal: AbortSignal },
): Promise<SchemaVerdict> {
  using limited = linkSignals([signal], { what: 'checking a schema', timeoutMs: WAIT_MS });
  try {
    return await schemas.check({ schema }, { signal: limited.signal });
  } catch (error) {
    if (!(error instanceof TimeoutError) || signal.aborted) throw error;
    throw new GatewayError('overloaded', 'The schema could not be checked in time. Try again.', { cause: error });
  }
}

const TOO_COSTLY = 'checking it against the schema took too long (a pattern in the schema may be endless)';

/** Checks an answer against its format. @throws GatewayError `overloaded`; the signal's reason. */
export async function checkAnswer(
  answer: string,
  { format, schemas, signal }: { format: StructuredFormat; schemas: SchemaChecker; signal: AbortSignal },
): Promise<CheckResult> {
  const json = jsonIn(answer);
  if (!json) return { problem: 'it is not valid JSON' };
  const { text, value } = json;
  if (format.type === 'json_object') return isObject(value) ? { text } : { problem: 'it is not a JSON object' };
  const verdict = await schemas.check({ schema: format.schema, value }, { signal });
  if (verdict.is === 'valid') return { text };
  return { problem: verdict.is === 'costly' ? TOO_COSTLY : verdict.problem };
}

/** The JSON in a message: models often wrap it in a code fence or a sentence. */
export function jsonIn(answer: string): { text: string; value: JsonValue } | undefined {
  const from = answer.search(/[[{]/);
  const to = Math.max(answer.lastIndexOf('}'), answer.lastIndexOf(']'));
  const inside = from !== -1 && to > from ? answer.slice(from, to + 1) : '';
  for (const part of [answer, fencedIn(answer), inside]) {
    const text = part.trim();
    const value = parseJson(text);
    if (value !== undefined) return { text, value };
  }
  return undefined;
}

const FENCE = '```';

function fencedIn(answer: string): string {
  const open = answer.indexOf(FENCE);
  const close = open === -1 ? -1 : answer.indexOf(FENCE, open + FENCE.length);
  return close === -1 ? '' : answer.slice(open + FENCE.length, close).replace(/^json/i, '');
}
