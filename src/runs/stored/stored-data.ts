import type { ZodType } from 'zod';
import { GatewayError } from '../../base/errors.ts';
import { parseJson } from '../../base/json.ts';

/**
 * The version of what this gateway writes into records: requests and transcripts. It counts up where an older gateway
 * could no longer make sense of them; fields that are added alone do not. 2: responses of plain models, and limits on
 * sources. 3: research whose transcript so far is kept beside it, custom tools with a grammar, files and audio in
 * messages of plain models, and credentials that a key of
 * the operator encrypts, too. Everything else is still written as version 1.
 */
export const DATA_VERSION = 3;

/** What is stored was written by a newer gateway, which has to go on with it: during a rolling update it is there. */
export class NewerDataError extends Error {
  override readonly name = 'NewerDataError';
}

/**
 * What a store gave back, parsed where it comes in: it may be another version's, or damaged.
 * @throws GatewayError `internal_error` naming what is wrong where, without its content.
 */
export function parseStored<T>(schema: ZodType<T>, text: string, what: string): T {
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = issue && issue.path.length > 0 ? ` at ${issue.path.join('.')}` : '';
  throw new GatewayError('internal_error', `A stored ${what} cannot be read${path}.`, { cause: parsed.error });
}
