import { z } from 'zod';
import { RUN_APIS, RUN_KINDS, RUN_STATUSES, type RunRecord, type RunSummary } from '../run-store.ts';

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
  'listed',
] as const satisfies readonly (keyof RunSummary)[];
/** The same of a whole record. */
export const RECORD_FIELDS = [...SUMMARY_FIELDS, 'request'] as const satisfies readonly (keyof RunRecord)[];
type RecordField = (typeof RECORD_FIELDS)[number];
const FIELD_INDEX: ReadonlyMap<string, number> = new Map(RECORD_FIELDS.map((field, index) => [field, index]));
/** Runs of earlier versions have none. */
const LISTED = SUMMARY_FIELDS.indexOf('listed');

/**
 * The reply to `HMGET` with `SUMMARY_FIELDS`; undefined where there is no such run. A list has a hundred of these, and
 * each poll one: read value by value, they cost a tenth of what a schema takes.
 * @throws Error for a field that is malformed.
 */
export function parseSummary(reply: unknown): RunSummary | undefined {
  const values: readonly unknown[] = Array.isArray(reply) ? reply : [];
  if (values[0] === null) return undefined;
  const integerOf = (field: RecordField) => {
    const value = Number(textOf(values, field) || Number.NaN);
    if (!Number.isSafeInteger(value)) throw new Error(`Redis gave no number as ${field} of a run`);
    return value;
  };
  const integerOrNullOf = (field: RecordField) => (textOf(values, field) === '' ? null : integerOf(field));
  return {
    id: textOf(values, 'id'),
    user: textOf(values, 'user'),
    keyId: textOf(values, 'keyId'),
    api: oneOf(values, 'api', RUN_APIS),
    model: textOf(values, 'model'),
    kind: oneOf(values, 'kind', RUN_KINDS),
    status: oneOf(values, 'status', RUN_STATUSES),
    createdAt: integerOf('createdAt'),
    startedAt: integerOrNullOf('startedAt'),
    endedAt: integerOrNullOf('endedAt'),
    expiresAt: integerOf('expiresAt'),
    cancelRequested: oneOf(values, 'cancelRequested', ['0', '1']) === '1',
    last: integerOf('last'),
    metadata: textOf(values, 'metadata'),
    listed: typeof values[LISTED] === 'string' ? values[LISTED] : '{}',
  };
}

/** The reply to `HMGET` with `RECORD_FIELDS`; undefined where there is no such run. @throws Error as above. */
export function parseRecordFields(reply: unknown): RunRecord | undefined {
  const summary = parseSummary(reply);
  return summary && { ...summary, request: textOf(Array.isArray(reply) ? reply : [], 'request') };
}

/** The same of a reply to `HGETALL`. */
export function parseRecordHash(reply: unknown): RunRecord | undefined {
  const fields = new Map(pairsOf(reply));
  return parseRecordFields(RECORD_FIELDS.map((field) => fields.get(field) ?? null));
}

function textOf(values: readonly unknown[], field: RecordField): string {
  const value = values[FIELD_INDEX.get(field) ?? -1];
  if (typeof value !== 'string') throw new Error(`Redis gave no ${field} of a run`);
  return value;
}

function oneOf<Option extends string>(
  values: readonly unknown[],
  field: RecordField,
  options: readonly Option[],
): Option {
  const text = textOf(values, field);
  const found = options.find((option) => option === text);
  if (found === undefined) throw new Error(`Redis gave ${text} as ${field} of a run`);
  return found;
}

/** Names and values that come in turn, such as the reply to `HGETALL`. */
export function pairsOf(reply: unknown): [name: string, value: string][] {
  const flat = textList.parse(reply);
  return Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at] ?? '', flat[2 * at + 1] ?? '']);
}

const factFields = {
  user: z.string(),
  api: z.enum(RUN_APIS),
  model: z.string(),
  status: z.enum(RUN_STATUSES),
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

export const claimReply = z.union([
  z.tuple([z.literal('claimed'), z.string(), z.number(), z.array(z.string()), integer]),
  z.tuple([z.literal('held'), z.string()]),
  z.tuple([z.enum(['missing', 'ended'])]),
]);

export const renewReply = z.union([z.tuple([z.literal('ok'), z.number(), integer]), z.tuple([z.literal('fenced')])]);

export const cancelReply = z.union([
  z.tuple([z.literal('ended'), z.enum(['completed', 'failed', 'cancelled'])]),
  z.tuple([z.enum(['accepted', 'missing'])]),
]);

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
  return pairsOf(reply).map(([member, score]) => ({ member, score: Number(score) }));
}
