import { z } from 'zod';
import type { RunRecord, RunSummary } from '../run-store.ts';

/** Replies of Redis, parsed where they come in. */

export const textList = z.array(z.string());
export const numberReply = z.number();
export const maybeTextList = z.array(z.string().nullable());
/** A rank or score that may be missing. */
export const maybeText = z.string().nullable();

const integer = z
  .string()
  .regex(/^-?\d+$/)
  .transform(Number);
const integerOrNull = z.union([z.literal('').transform(() => null), integer]);

const APIS = ['responses', 'async', 'chat_completions'] as const;
const KINDS = ['research', 'proxy'] as const;
const STATUSES = ['queued', 'in_progress', 'completed', 'failed', 'cancelled'] as const;
const FLAGS = ['0', '1'] as const;

/** Names of the fields that a list entry needs, in the order of `HMGET`. */
export const SUMMARY_FIELDS = [
  'id',
  'user',
  'keyId',
  'api',
  'model',
  'kind',
  'status',
  'createdAt',
  'startedAt',
  'endedAt',
  'expiresAt',
  'cancelRequested',
  'last',
  'metadata',
] as const satisfies readonly (keyof RunSummary)[];
/** The same of a whole record. */
export const RECORD_FIELDS = [...SUMMARY_FIELDS, 'request'] as const satisfies readonly (keyof RunRecord)[];
type RecordField = (typeof RECORD_FIELDS)[number];
const FIELD_INDEX: ReadonlyMap<string, number> = new Map(RECORD_FIELDS.map((field, index) => [field, index]));

/** The reply to `HMGET` with `SUMMARY_FIELDS`; undefined where there is no such run. */
export function parseSummary(reply: unknown): RunSummary | undefined {
  return new RecordReply(reply).summary();
}

/** The reply to `HMGET` with `RECORD_FIELDS`; undefined where there is no such run. @throws Error for a field that is malformed. */
export function parseRecordFields(reply: unknown): RunRecord | undefined {
  return new RecordReply(reply).record();
}

/** The same of a reply to `HGETALL`. */
export function parseRecordHash(reply: unknown): RunRecord | undefined {
  const flat = textList.parse(reply);
  const values: (string | null)[] = RECORD_FIELDS.map(() => null);
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const at = FIELD_INDEX.get(flat[index] ?? '');
    if (at !== undefined) values[at] = flat[index + 1] ?? '';
  }
  return parseRecordFields(values);
}

/** A list has a hundred of these, and each poll one: read value by value, they cost a tenth of what a schema takes. */
class RecordReply {
  readonly #values: readonly unknown[];

  constructor(reply: unknown) {
    this.#values = Array.isArray(reply) ? reply : [];
  }

  record(): RunRecord | undefined {
    const summary = this.summary();
    return summary && { ...summary, request: this.#text('request') };
  }

  summary(): RunSummary | undefined {
    if (this.#values[0] === null) return undefined;
    return {
      id: this.#text('id'),
      user: this.#text('user'),
      keyId: this.#text('keyId'),
      api: this.#oneOf('api', APIS),
      model: this.#text('model'),
      kind: this.#oneOf('kind', KINDS),
      status: this.#oneOf('status', STATUSES),
      createdAt: this.#integer('createdAt'),
      startedAt: this.#integerOrNull('startedAt'),
      endedAt: this.#integerOrNull('endedAt'),
      expiresAt: this.#integer('expiresAt'),
      cancelRequested: this.#oneOf('cancelRequested', FLAGS) === '1',
      last: this.#integer('last'),
      metadata: this.#text('metadata'),
    };
  }

  #text(field: RecordField): string {
    const value = this.#values[FIELD_INDEX.get(field) ?? -1];
    if (typeof value !== 'string') throw new Error(`Redis gave no ${field} of a run`);
    return value;
  }

  #oneOf<Option extends string>(field: RecordField, options: readonly Option[]): Option {
    const text = this.#text(field);
    const found = options.find((option) => option === text);
    if (found === undefined) throw new Error(`Redis gave ${text} as ${field} of a run`);
    return found;
  }

  #integer(field: RecordField): number {
    const value = Number(this.#text(field) || Number.NaN);
    if (!Number.isSafeInteger(value)) throw new Error(`Redis gave no number as ${field} of a run`);
    return value;
  }

  #integerOrNull(field: RecordField): number | null {
    return this.#text(field) === '' ? null : this.#integer(field);
  }
}

/** One field of a reply to `HGETALL`. */
export function fieldOf(flat: readonly string[], name: string): string | undefined {
  const at = flat.findIndex((each, index) => index % 2 === 0 && each === name);
  return at === -1 ? undefined : flat[at + 1];
}

const factFields = {
  user: z.string(),
  api: z.enum(APIS),
  model: z.string(),
  status: z.enum(STATUSES),
  expiresAt: integer,
  endedAt: integerOrNull,
  /** The end by the store's clock; runs of the first version have none. */
  endedByStore: integer.nullable(),
  /** JSON, where the submission has keys. */
  keys: z.string().nullable(),
};
const facts = z.object(factFields);
/** What the indexes hold of a run. */
export type Facts = z.infer<typeof facts>;

/** Names of the fields of `Facts`, in the order of `HMGET`. */
export const FACT_FIELDS = Object.keys(factFields);

/** The reply to `HMGET` with `FACT_FIELDS`; undefined where there is no such run. */
export function parseFacts(reply: unknown): Facts | undefined {
  const values = maybeTextList.parse(reply);
  if (values[0] === null) return undefined;
  return facts.parse(Object.fromEntries(FACT_FIELDS.map((field, index) => [field, values[index]])));
}

const appendReply = z.union([
  z.tuple([z.enum(['ok', 'duplicate']), z.number(), z.number()]),
  z.tuple([z.literal('ok'), z.number(), z.number(), maybeTextList]),
  z.tuple([z.enum(['gap', 'cancelled']), z.number()]),
  z.tuple([z.enum(['fenced', 'closed', 'missing'])]),
]);

type AppendReply = z.infer<typeof appendReply>;

/** The reply of the append script. That of a delta is read without the schema, which takes longer than the rest. */
export function parseAppend(reply: unknown): AppendReply {
  if (Array.isArray(reply) && reply.length === 3) {
    const [result, last, cancel]: unknown[] = reply;
    if (result === 'ok' && typeof last === 'number' && typeof cancel === 'number') return [result, last, cancel];
  }
  return appendReply.parse(reply);
}

const claimReply = z.union([
  z.tuple([z.literal('claimed'), z.string(), z.number(), z.array(z.string()), integer]),
  z.tuple([z.literal('held'), z.string()]),
  z.tuple([z.enum(['missing', 'ended'])]),
]);
export function parseClaim(reply: unknown) {
  return claimReply.parse(reply);
}

const renewReply = z.union([z.tuple([z.literal('ok'), z.number(), integer]), z.tuple([z.literal('fenced')])]);
export function parseRenew(reply: unknown) {
  return renewReply.parse(reply);
}

const cancelReply = z.union([
  z.tuple([z.literal('ended'), z.enum(['completed', 'failed', 'cancelled'])]),
  z.tuple([z.enum(['accepted', 'missing'])]),
]);
export function parseCancel(reply: unknown) {
  return cancelReply.parse(reply);
}

export const pairReply = z.tuple([z.string(), z.string()]);
export const maybePairReply = pairReply.nullable();

export const keyRunReply = z.union([
  z.tuple([z.literal('held'), z.array(z.string())]),
  z.tuple([z.enum(['over', 'deleted', 'missing'])]),
]);

const storedKeys = z.array(
  z.object({
    kind: z.enum(['idempotency', 'retry']),
    hash: z.string(),
    ttlMs: z.number(),
    fingerprint: z.string().optional(),
  }),
);
/** The keys of a submission as its run's hash names them. */
export function parseKeys(text: string | null) {
  return text === null ? [] : storedKeys.parse(JSON.parse(text));
}

export const formatReply = z.tuple([z.enum(['shared', 'newer']), z.number()]);

/** Host and port; null where there is no such server. */
export const maybeAddressReply = z.tuple([z.string(), z.string()]).nullable();

const clusterNode = z.tuple([z.string().nullable(), z.number()]).rest(z.unknown());
/** The reply to `CLUSTER SLOTS`: first slot, last slot, the master, its replicas. */
export const clusterSlotsReply = z.array(z.tuple([z.number(), z.number(), clusterNode]).rest(z.unknown()));

/** Names of the fields that say what readers see of a log. */
export const LOG_FIELDS = ['last', 'sealed', 'shown', 'endedAt'] as const;

/** Entries of a log's stream, read as buffers. */
export const streamReply = z.array(z.tuple([z.instanceof(Buffer), z.array(z.instanceof(Buffer))]));
/** `LOG_FIELDS` and the last entry, read as buffers. */
export const lastReply = z.tuple([z.array(z.instanceof(Buffer).transform(String).nullable()), streamReply]);
export const bufferReply = z.instanceof(Buffer);

/** Members and scores that come in turn. */
export function withScores(reply: unknown): { member: string; score: number }[] {
  const flat = textList.parse(reply);
  const found: { member: string; score: number }[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    found.push({ member: flat[index] ?? '', score: Number(flat[index + 1]) });
  }
  return found;
}
