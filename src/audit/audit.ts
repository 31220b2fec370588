import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { parseJson } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { auditEntry } from '../protocol/operating/admin.ts';
import type { EntryStore } from '../store/side-stores/entry-store.ts';

const LIST = 'audit';
/** How many records the store retains. */
const MAX_RECORDS = 10_000;
/** How many refused keys are recorded one by one in a minute; the others are only counted. */
const MAX_REFUSED_PER_MINUTE = 60;
const MINUTE_MS = 60_000;

const record = auditEntry.extend({ time: z.number() });

/** `time`: Unix milliseconds. */
export type AuditRecord = z.output<typeof record>;

/** What happened. Contains no secrets. */
export interface AuditEvent extends Pick<AuditRecord, 'by' | 'target' | 'address' | 'detail'> {
  action: 'key.created' | 'key.updated' | 'key.rotated' | 'key.deleted' | 'key.refused' | 'config.reloaded';
}

export interface AuditOptions {
  store: EntryStore;
  /** Where records are also written, one line each (`logging.audit`). */
  write?: ((line: string) => void) | undefined;
  instance: string;
  clock: Clock;
  log: Logger;
}

/** Records who changed what, and who was refused (docs/keys.md, "Audit"). */
export class Audit {
  readonly #options: AuditOptions;
  #minute = 0;
  #refused = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AuditOptions) {
    this.#options = options;
  }

  /** Records what happened. Never rejects, because it has happened already; a store that is away is logged. */
  async record({ action, by, target, address, detail }: AuditEvent): Promise<void> {
    const { store, write, instance, clock, log } = this.#options;
    const entry: AuditRecord = { id: randomUUID(), time: clock.now(), instance, action, by, target, address, detail };
    const value = JSON.stringify(entry);
    write?.(`${value}\n`);
    try {
      await store.add(LIST, { id: entry.id, state: action, value, createdAt: entry.time }, { keepNewest: MAX_RECORDS });
    } catch (thrown) {
      log.warn({ action, err: messageOf(thrown) }, 'the audit could not be stored');
    }
  }

  /** Records a request that was refused because of its key. Beyond a limit per minute, only their number is recorded. */
  recordRefusal(event: Pick<AuditEvent, 'target' | 'address' | 'detail'>): void {
    const minute = Math.floor(this.#options.clock.now() / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#recordRest();
      this.#minute = minute;
    }
    if (++this.#refused <= MAX_REFUSED_PER_MINUTE) void this.record({ action: 'key.refused', ...event });
    // Perhaps no further one comes.
    else this.#timer ??= setTimeout(() => this.#recordRest(), MINUTE_MS).unref();
  }

  /** Records how many refusals of the last minute were only counted. */
  #recordRest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const rest = this.#refused - MAX_REFUSED_PER_MINUTE;
    const at = new Date(this.#minute * MINUTE_MS).toISOString().slice(0, 16);
    if (rest > 0) void this.record({ action: 'key.refused', detail: `${rest} more in the minute of ${at}Z` });
    this.#refused = 0;
  }

  /** A page of records, newest first; undefined if `after` is unknown. @throws GatewayError `store_unavailable`. */
  async list({ limit, after }: { limit: number; after?: string | undefined }) {
    const { store } = this.#options;
    const cursor = after === undefined ? undefined : await store.get(LIST, after);
    if (after !== undefined && !cursor) return undefined;
    const { entries, hasMore } = await store.page(LIST, { limit, order: 'desc', after: cursor });
    return { records: entries.flatMap(({ value }) => record.safeParse(parseJson(value)).data ?? []), hasMore };
  }
}
