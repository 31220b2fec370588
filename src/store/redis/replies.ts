import { z } from 'zod';
import { RUN_APIS, RUN_KINDS, RUN_STATUSES, type RunRecord, type RunSummary } from '../run-store.ts';

/** Parsers of Redis replies. */

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

/** The fields of a list entry, in the order of `HMGET`. */
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
/** The fields of a whole record, in the order of `HMGET`. */
export const RECORD_FIELDS = [...SUMMARY_FIELDS, 'request'] as const satisfies readonly (keyof RunRecord)[];
type RecordField = (typeof RECORD_FIELDS)[number];
const FIELD_INDEX: ReadonlyMap<string, number> = new Map(RECORD_FIELDS.map((field, index) => [field, index]));
/** Runs of earlier versions lack this field. */
const LISTED = SUMMARY_FIELDS.indexOf('listed');

/**
 * Parses the reply to `HMGET` with `SUMMARY_FIELDS`; undefined if there is no such run. A list has a hundred of these
 * and each poll has one: parsed by hand, they cost a tenth of what a schema takes.
 * @throws Error for a malformed field.
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

/** Parses the reply to `HMGET` with `RECORD_FIELDS`; undefined if there is no such run. @throws as `parseSummary`. */
export function parseRecordFields(reply: unknown): RunRecord | undefined {
  const summary = parseSummary(reply);
  return summary && { ...summary, request: textOf(Array.isArray(reply) ? reply : [], 'request') };
}

/** Parses the reply to `HGETALL` as a record. */
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

/** Names and values that alternate, such as the reply to `HGETALL`. */
export function pairsOf(reply: unknown): [name: string, value: string][] {
  const flat = textList.parse(reply);
  return Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at] ?? '', flat[2 * at + 1] ?? '']);
}

const factFields = {
  user: z.string(),
  api: z.enum(RUN_APIS),
  model: z.string(),
  status: z.enum(RUN_STATUSES),
  listed: z
    .string()
    .nullable()
    .transform((text) => text ?? '{}'),
  expiresAt: integer,
  endedAt: integerOrNull,
  /** The end by the clock of the store; runs of the first version lack it. */
  endedByStore: integer.nullable(),
  /** JSON, if the submission has keys. */
  keys: z.string().nullable(),
};
const facts = z.object(factFields);
/** What indexes need to know of a run. */
export type RunFacts = z.infer<typeof facts>;

/** The fields of `RunFacts`, in the order of `HMGET`. */
export const FACT_FIELDS = Object.keys(factFields);

/** Parses the reply to `HMGET` with `FACT_FIELDS`; undefined if there is no such run. */
export function parseFacts(reply: unknown): RunFacts | undefined {
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

/** Parses the reply of the append script. The usual one is read without the schema, which is slower than the append. */
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
/** Parses the submission keys in the hash of a run. */
export function parseKeys(text: string | null) {
  return text === null ? [] : storedKeys.parse(JSON.parse(text));
}

export const formatReply = z.tuple([z.enum(['shared', 'newer']), z.number()]);

/** Host and port; null if there is no such server. */
export const maybeAddressReply = z.tuple([z.string(), z.string()]).nullable();

const clusterNode = z.tuple([z.string().nullable(), z.number()]).rest(z.unknown());
/** The reply to `CLUSTER SLOTS`: first slot, last slot, the master, its replicas. */
export const clusterSlotsReply = z.array(z.tuple([z.number(), z.number(), clusterNode]).rest(z.unknown()));

/** The fields that decide what readers see of a log. */
export const LOG_FIELDS = ['last', 'sealed', 'shown', 'endedAt'] as const;

/** Entries of a log, read as buffers. */
export const streamReply = z.array(z.tuple([z.instanceof(Buffer), z.array(z.instanceof(Buffer))]));
/** `LOG_FIELDS` and the last entry, read as buffers. */
export const lastEntryReply = z.tuple([z.array(z.instanceof(Buffer).transform(String).nullable()), streamReply]);
export const bufferReply = z.instanceof(Buffer);

/** Parses members and scores that alternate. */
export function scoredMembers(reply: unknown): { member: string; score: number }[] {
  return pairsOf(reply).map(([member, score]) => ({ member, score: Number(score) }));
}
