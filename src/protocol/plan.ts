import { z } from 'zod';
import { isObject, parseJson } from '../base/json.ts';

/** The plan of a run (docs/research.md, "The plan"), which the model writes by calls of `update_plan`. */

/** The server tool that writes the plan. */
export const UPDATE_PLAN = 'update_plan';

const STATUSES = ['open', 'doing', 'done', 'dropped'] as const;

export const planItem = z.object({
  text: z.string(),
  status: z.enum(STATUSES),
  /** What was found, or why it was dropped. */
  finding: z.string().optional(),
});
export const plan = z.object({ items: z.array(planItem) });
export type PlanItem = z.output<typeof planItem>;
export type Plan = z.output<typeof plan>;

const MAX_ITEMS = 40;
/** In UTF-16 code units; what is longer is cut. */
const MAX_TEXT = 400;

/** The plan that the arguments of a call of `update_plan` hold, as JSON text; undefined where they hold none. */
export function planIn(args: string): Plan | undefined {
  const value = parseJson(args);
  const given = isObject(value) && Array.isArray(value.items) ? value.items.slice(0, MAX_ITEMS) : [];
  const items = given.flatMap((item: unknown) => itemOf(item) ?? []);
  return items.length === 0 ? undefined : { items };
}

function itemOf(given: unknown): PlanItem | undefined {
  const { text, status, finding } = isObject(given) ? given : { text: given };
  const words = line(text);
  if (words === '') return undefined;
  const found = line(finding);
  const known = STATUSES.find((each) => each === status) ?? 'open';
  return { text: words, status: known, ...(found === '' ? {} : { finding: found }) };
}

function line(text: unknown): string {
  if (typeof text !== 'string') return '';
  const words = text
    .slice(0, 2 * MAX_TEXT)
    .replace(/\s+/g, ' ')
    .trim();
  return words.length > MAX_TEXT ? `${words.slice(0, MAX_TEXT - 1).toWellFormed()}…` : words;
}

/** The plan with another status of the items of these texts that are not settled. */
export function withStatus({ items }: Plan, texts: readonly string[], status: PlanItem['status']): Plan {
  const isMeant = (item: PlanItem) => texts.includes(item.text) && !isSettled(item);
  return { items: items.map((item) => (isMeant(item) ? { ...item, status } : item)) };
}

/** Whether nothing more is to be done for an item. */
export function isSettled({ status }: PlanItem): boolean {
  return status === 'done' || status === 'dropped';
}

/** A plan as a numbered list, each item on a line. */
export function planText({ items }: Plan): string {
  return items
    .map(({ text, status, finding }, at) => `${at + 1}. [${status}] ${text}${finding ? ` (${finding})` : ''}`)
    .join('\n');
}
