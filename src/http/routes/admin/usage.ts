import { setImmediate as nextTurn } from 'node:timers/promises';
import { fieldError } from '../../../base/errors.ts';
import { USAGE_GROUPS, type UsageGroup, type UsageList, usageQuery } from '../../../protocol/operating/admin.ts';
import { emptyUsage, USAGE_COUNTS, type UsageRow } from '../../../store/side-stores/usage-store.ts';
import { dayOf, RETENTION_DAYS } from '../../../usage/usage.ts';
import { type Answer, json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import type { Call } from '../../endpoint.ts';
import { readQuery } from '../../query.ts';

const DAY_MS = 86_400_000;
/** How many days are shown if none are given. */
const DEFAULT_DAYS = 30;
const MAX_ROWS = 100_000;

/** `GET /admin/usage` (docs/keys.md, "Usage"). */
export async function getUsage(deps: AppDeps, { req, res, identity: { config } }: Call): Promise<Answer> {
  const query = readQuery(req, usageQuery);
  const groups = groupsIn(query.group_by);
  const today = deps.clock.now();
  const { to = dayOf(today) } = query;
  const { from = dayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS) } = query;
  const rows = new Map<string, UsageRow>();
  const days = daysFrom(from, to);
  // Once, not for each day: if the store is unavailable, every attempt takes long.
  await deps.usage.flush();
  for (const day of days) {
    addUp(rows, await deps.usage.day(day), groups);
    await nextTurn();
  }
  const data = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => usageEntry(row, groups));
  const list: UsageList = { object: 'list', from, to, currency: config.server.currency, data };
  if (query.format === 'json') return json(list);
  res.setHeader('content-type', 'text/csv; charset=utf-8');
  res.setHeader('content-disposition', `attachment; filename="usage-${from}-${to}.csv"`);
  res.end(toCsv(data, groups));
  return { kind: 'written' };
}

function groupsIn(text: string): UsageGroup[] {
  return text.split(',').map((part) => {
    const group = USAGE_GROUPS.find((known) => known === part.trim());
    if (group) return group;
    throw fieldError('invalid_parameter', 'group_by', `expected a list of ${USAGE_GROUPS.join(', ')}.`);
  });
}

function daysFrom(from: string, to: string): string[] {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days < 1 || days > RETENTION_DAYS + 1) {
    const what = `expected a day that is not behind to, and at most ${RETENTION_DAYS} days before it.`;
    throw fieldError('invalid_parameter', 'from', what);
  }
  return Array.from({ length: days }, (_, index) => dayOf(Date.parse(from) + index * DAY_MS));
}

function addUp(sums: Map<string, UsageRow>, rows: readonly UsageRow[], groups: readonly UsageGroup[]): void {
  for (const row of rows) {
    const name = JSON.stringify(groups.map((group) => row[group]));
    const sum = sums.get(name) ?? emptyUsage(row);
    if (sums.size >= MAX_ROWS && !sums.has(name)) {
      const what = `this makes more than ${MAX_ROWS} rows; ask for fewer days or groups.`;
      throw fieldError('invalid_parameter', 'group_by', what);
    }
    sums.set(name, sum);
    for (const name of USAGE_COUNTS) sum[name] += row[name];
  }
}

function usageEntry(row: UsageRow, groups: readonly UsageGroup[]): UsageList['data'][number] {
  const { requests, errors, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_nanos } = row;
  return {
    ...Object.fromEntries(groups.map((group) => [group, row[group]])),
    requests,
    errors,
    input_tokens,
    cached_tokens,
    output_tokens,
    reasoning_tokens,
    cost: cost_nanos / 1e9,
  };
}

function toCsv(rows: UsageList['data'], groups: readonly UsageGroup[]): string {
  const columns = [...groups, ...USAGE_COUNTS.filter((name) => name !== 'cost_nanos'), 'cost'] as const;
  const lines = rows.map((row) => columns.map((column) => cell(row[column] ?? '')).join(','));
  return `${[columns.join(','), ...lines].join('\r\n')}\r\n`;
}

/** A cell of RFC 4180. Text that a spreadsheet would take for a formula is marked as text. */
function cell(value: string | number): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
