import { isObject, parseJson } from '../../base/json.ts';
import { UPDATE_PLAN } from '../../protocol/plan.ts';
import type { ExecutableCall } from './transcript.ts';

/** Asks the user something instead of researching. The call is not visible: its question becomes the answer. */
export const ASK_USER = 'ask_user';

/** Whether a tool is the loop's own: its calls do not count as tool calls, cost nothing and give no evidence. */
export function isOwnTool(name: string | undefined): boolean {
  return name === UPDATE_PLAN || name === ASK_USER;
}

/**
 * Whether the `source_id`s in the result of a call are the run's own numbers. Services and Python code may write any numbers
 * there, and so may a function of the client, unless its result became a source.
 */
export function hasSourceNumbers(
  { name, client }: Pick<ExecutableCall, 'name' | 'client'>,
  { url, content }: Readonly<Record<string, unknown>>,
): boolean {
  if (client) return typeof url === 'string' && typeof content === 'string';
  return name !== 'execute_python' && !name.includes('.');
}

/** The question in the arguments of an `ask_user` call. */
export function questionIn(args: string): string | undefined {
  const value = parseJson(args);
  return isObject(value) && typeof value.question === 'string'
    ? value.question.trim().slice(0, MAX_QUESTION_LENGTH).toWellFormed()
    : undefined;
}
/** In UTF-16 code units. */
const MAX_QUESTION_LENGTH = 4000;
