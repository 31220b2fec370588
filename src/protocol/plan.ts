import { z } from 'zod';
import { isObject, parseJson } from '../base/json.ts';

/** The plan of a run (docs/research.md, "The plan"), which the model writes by calling `update_plan`. */

/** The server-side tool that writes the plan. */
export const UPDATE_PLAN = 'update_plan';

const STATUSES = ['open', 'doing', 'done', 'dropped'] as const;

export const planItem = z.object({
  text: z.string(),
  status: z.enum(STATUSES),
  /** The result, or why the item was dropped. */
  finding: z.string().optional(),
});
export const plan = z.object({ items: z.array(planItem) });
export type PlanItem = z.output<typeof planItem>;
export type Plan = z.output<typeof plan>;

const MAX_ITEMS = 40;
/** Longer texts are cut; in UTF-16 code units. */
const MAX_TEXT = 400;

/** Parses the plan in the arguments (JSON text) of an `update_plan` call; undefined if there is none. */
export function parsePlan(args: string): Plan | undefined {
  const value = parseJson(args);
  const rawItems = isObject(value) && Array.isArray(value.items) ? value.items.slice(0, MAX_ITEMS) : [];
  const items = rawItems.flatMap((item: unknown) => parseItem(item) ?? []);
  return items.length === 0 ? undefined : { items };
}

function parseItem(raw: unknown): PlanItem | undefined {
  const { text: rawText, status: rawStatus, finding: rawFinding } = isObject(raw) ? raw : { text: raw };
  const text = toLine(rawText);
  if (text === '') return undefined;
  const finding = toLine(rawFinding);
  const status = STATUSES.find((each) => each === rawStatus) ?? 'open';
  return { text, status, ...(finding !== '' && { finding }) };
}

/** A text on one line, cut to `MAX_TEXT`; empty for any other value. */
function toLine(value: unknown): string {
  if (typeof value !== 'string') return '';
  const line = value
    .slice(0, 2 * MAX_TEXT)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT - 1).toWellFormed()}…` : line;
}

/** Sets the status of the items with these texts, unless they are settled. */
export function withItemStatus({ items }: Plan, texts: readonly string[], status: PlanItem['status']): Plan {
  const isAffected = (item: PlanItem) => texts.includes(item.text) && !isSettled(item);
  return { items: items.map((item) => (isAffected(item) ? { ...item, status } : item)) };
}

/** Whether an item needs no more work. */
export function isSettled({ status }: PlanItem): boolean {
  return status === 'done' || status === 'dropped';
}

/** Formats a plan as a numbered list, one item per line. */
export function formatPlan({ items }: Plan): string {
  return items
    .map(({ text, status, finding }, index) => `${index + 1}. [${status}] ${text}${finding ? ` (${finding})` : ''}`)
    .join('\n');
}
