import { randomUUID } from 'node:crypto';

/** A run's id, a UUID. Clients see it with the prefix of the interface they use (docs/api.md). */
export type RunId = string;

/** The prefix of run ids in each interface. */
export const ID_PREFIX = {
  responses: 'resp_',
  async: 'task_',
  chat_completions: 'chatcmpl-',
  unstored: 'resp_',
} as const;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isRunId(text: string): text is RunId {
  return UUID.test(text);
}

/** A new run id: random, so that it cannot be guessed. */
export function newRunId(): RunId {
  return randomUUID();
}

/** `id` with the prefix of an interface. */
export function publicId(api: keyof typeof ID_PREFIX, id: RunId): string {
  return ID_PREFIX[api] + id;
}

/** The UUID in `text`, or undefined if it does not have the prefix and a UUID. */
export function uuidAfter(prefix: string, text: string): string | undefined {
  const id = text.startsWith(prefix) ? text.slice(prefix.length) : '';
  return isRunId(id) ? id : undefined;
}

/** The run id in `text`, or undefined if it does not have the interface's prefix and a UUID. */
export function parsePublicId(api: keyof typeof ID_PREFIX, text: string): RunId | undefined {
  return uuidAfter(ID_PREFIX[api], text);
}

/** Prefixes of items and of calls of the client's functions; their ids contain that of the run that made them. */
const ITEM_PREFIXES = [
  'rs',
  'tc',
  'msg',
  'ws',
  'fs',
  'ci',
  'ig',
  'mcp',
  'mcpl',
  'mcpr',
  'fc',
  'ctc',
  'lsh',
  'tsc',
  'tso',
  'sh',
  'apc',
  'call',
  'cmp',
] as const;
export type ItemPrefix = (typeof ITEM_PREFIXES)[number];
const ITEM_ID = new RegExp(
  `^(?:${ITEM_PREFIXES.join('|')})_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})([oi])(\\d{1,9})$`,
);

/**
 * The id of an item of a run. It contains the run's id and the item's place, so that an `item_reference` is found
 * without an index, and a run that is resumed after a crash gives the item the same id.
 */
export function itemId(prefix: ItemPrefix, run: RunId, place: { output: number } | { input: number }): string {
  const index = 'output' in place ? place.output : place.input;
  return `${prefix}_${run.replaceAll('-', '')}${'output' in place ? 'o' : 'i'}${index}`;
}

/** The run and place that an item id names, or undefined if the gateway did not make it. */
export function parseItemId(id: string): { run: RunId; place: { output: number } | { input: number } } | undefined {
  const match = ITEM_ID.exec(id);
  if (!match) return undefined;
  const [, a, b, c, d, e, kind, digits] = match;
  const index = Number(digits);
  return { run: `${a}-${b}-${c}-${d}-${e}`, place: kind === 'o' ? { output: index } : { input: index } };
}
