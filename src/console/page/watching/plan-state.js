import { line } from '../format.js';

/** The tool by which a model writes its plan. */
export const UPDATE_PLAN = 'update_plan';

const MAX_ITEMS = 40;
const STATUSES = ['open', 'doing', 'done', 'dropped'];

/** A plan of a model or a response as `[{text, status, finding}]`; null without items. */
export function planOf(given) {
  const items = Array.isArray(given?.items) ? given.items.slice(0, MAX_ITEMS) : [];
  const read = items
    .map((item) => (typeof item === 'string' ? { text: item } : (item ?? {})))
    .map(({ text, status, finding }) => ({
      text: typeof text === 'string' ? line(text, 400) : '',
      status: STATUSES.includes(status) ? status : 'open',
      finding: typeof finding === 'string' ? line(finding, 400) : '',
    }))
    .filter(({ text }) => text !== '');
  return read.length === 0 ? null : read;
}

/** `3 of 5 done`: dropped items do not count. */
export function progressOf(plan) {
  const wanted = plan.filter(({ status }) => status !== 'dropped');
  return `${wanted.filter(({ status }) => status === 'done').length} of ${wanted.length} done`;
}
