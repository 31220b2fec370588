import { randomBytes, randomUUID } from 'node:crypto';

/** A run's id, a UUID. Clients see it with the prefix of the interface they use (contract section 1). */
export type RunId = string;

/** Prefixes under which one run is seen by the interfaces. */
export const ID_PREFIX = { responses: 'resp_', async: 'task_', chat_completions: 'chatcmpl-' } as const;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A new run id: random, so that it cannot be guessed. */
export function newRunId(): RunId {
  return randomUUID();
}

/** `id` with the prefix of an interface. */
export function publicId(api: keyof typeof ID_PREFIX, id: RunId): string {
  return ID_PREFIX[api] + id;
}

/** The run id in `text`, or undefined where prefix or UUID are not those of the interface. */
export function parsePublicId(api: keyof typeof ID_PREFIX, text: string): RunId | undefined {
  const prefix = ID_PREFIX[api];
  if (!text.startsWith(prefix)) return undefined;
  const id = text.slice(prefix.length);
  return UUID.test(id) ? id : undefined;
}

/** A new id of an output item: `rs_...`, `tc_...`, `msg_...`. */
export function newItemId(prefix: 'rs' | 'tc' | 'msg'): string {
  return `${prefix}_${randomBytes(16).toString('hex')}`;
}
