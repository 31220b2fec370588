import type { JsonValue } from '../../../base/json.ts';

/** What is told between a check of a JSON value and the thread that makes it. */

/** A schema and a value to hold against it. */
export interface Validation {
  schema: Record<string, unknown>;
  value: JsonValue;
}

/** What the thread tells: that it begins, and what is wrong with the value. */
export type ThreadMessage = { said: 'begun' } | { said: 'done'; problem: string | undefined };
