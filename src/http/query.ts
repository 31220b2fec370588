import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { fieldError, type GatewayError } from '../base/errors.ts';

/**
 * Reads the query parameters that a schema names (`protocol/requests/queries.ts`).
 * @throws GatewayError `invalid_parameter` for one that is invalid or given twice.
 */
export function readQuery<T extends z.ZodObject>({ url = '' }: IncomingMessage, schema: T): z.output<T> {
  const mark = url.indexOf('?');
  const params = new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
  const values: Record<string, string | number | undefined> = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    const [value, ...others] = params.getAll(name);
    if (others.length > 0) throw fieldError('invalid_parameter', name, 'give it once.');
    values[name] = value !== undefined && numberSchemaOf(field) && /^\d{1,16}$/.test(value) ? Number(value) : value;
  }
  const { data, error } = schema.safeParse(values);
  if (data) return data;
  const issue = error?.issues[0];
  const name = String(issue?.path[0]);
  throw fieldError('invalid_parameter', name, `${describeExpected(issue, schema.shape[name])}.`);
}

function numberSchemaOf(field: unknown): z.ZodNumber | undefined {
  if (field instanceof z.ZodNumber) return field;
  return field instanceof z.ZodDefault || field instanceof z.ZodOptional ? numberSchemaOf(field.unwrap()) : undefined;
}

/** What was expected: the schema's own message, or else the values that the field may have. */
function describeExpected(issue: z.core.$ZodIssue | undefined, field: unknown): string | undefined {
  const number = numberSchemaOf(field);
  if (number) return `expected an integer from ${number.minValue} to ${number.maxValue}`;
  const isPlain = issue?.code === 'invalid_value' && issue.message.startsWith('Invalid');
  return isPlain ? `expected one of ${issue.values.join(', ')}` : issue?.message;
}

/**
 * A page of a list in memory: the items that are `isListed` and follow `after`, or directly precede `before`.
 * @throws the error that `missing` makes for an id that is not in the list.
 */
export function pageOf<T extends { id: string }>(
  items: readonly T[],
  { limit, after, before }: { limit: number; after?: string | undefined; before?: string | undefined },
  { missing, isListed = () => true }: { missing(param: string): GatewayError; isListed?(item: T): boolean },
) {
  const indexOf = (cursor: string, param: string) => {
    const index = items.findIndex(({ id }) => id === cursor);
    if (index === -1) throw missing(param);
    return index;
  };
  const from = after === undefined ? 0 : indexOf(after, 'after') + 1;
  const to = before === undefined ? items.length : indexOf(before, 'before');
  const between = items.slice(from, Math.max(from, to)).filter(isListed);
  const data = before === undefined ? between.slice(0, limit) : between.slice(-limit);
  return { data, hasMore: data.length < between.length };
}
