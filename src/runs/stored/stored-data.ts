import type { ZodType, z } from 'zod';
import { GatewayError } from '../../base/errors.ts';
import { parseJson } from '../../base/json.ts';

/**
 * The version of the requests and transcripts that this gateway writes. It goes up when an older gateway could no longer
 * make sense of them, not when optional fields are added. 2: responses of plain models, and limits on sources. 3: research
 * whose earlier transcript is stored beside it, custom tools with a grammar, files and audio in messages of plain models,
 * and credentials that are also encrypted with the operator's key. Everything else is still written as version 1.
 */
export const DATA_VERSION = 3;

/** Stored data was written by a newer gateway, which has to continue with it; during a rolling update there is one. */
export class NewerDataError extends Error {
  override readonly name = 'NewerDataError';
}

/**
 * Parses what a store returned, which another version may have written, or which may be damaged. `stored`: JSON, or what
 * `parseJson` made of it.
 * @throws NewerDataError if nothing is wrong but values that this version does not know.
 * @throws GatewayError `internal_error` that names the place of the problem, without the content.
 */
export function parseStored<T>(schema: ZodType<T>, stored: unknown, what: string): T {
  const value = typeof stored === 'string' ? parseJson(stored) : stored;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = issue && issue.path.length > 0 ? ` at ${issue.path.join('.')}` : '';
  if (parsed.error.issues.every((each) => isUnknownValue(each, value)))
    throw new NewerDataError(`the ${what} has an unknown value${path}`);
  throw new GatewayError('internal_error', `A stored ${what} cannot be read${path}.`, { cause: parsed.error });
}

/** Whether only a value is unknown, such as one of an enumeration that has grown. Anything but a text there is damage. */
function isUnknownValue(issue: z.core.$ZodIssue, stored: unknown): boolean {
  const value = issue.path.reduce<unknown>((outer, key) => Object(outer)[key], stored);
  if (issue.code === 'invalid_value') return typeof value === 'string';
  if (issue.code !== 'invalid_union') return false;
  if (issue.discriminator !== undefined) return true;
  return issue.errors.some((issues) => issues.every((each) => isUnknownValue(each, value)));
}
