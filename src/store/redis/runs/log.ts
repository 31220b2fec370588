import type { RunId } from '../../../base/ids.ts';
import { CompressedLog, compressLog } from '../../compressed-log.ts';
import { storeUnavailable } from '../../failure.ts';
import { dropUpTo, joinBatches, notContiguous, offsetAfter } from '../../frames.ts';
import type { AppendBatch, LogBatch } from '../../run-store.ts';
import { RedisPart } from '../part.ts';
import {
  bufferReply,
  LOG_FIELDS,
  lastEntryReply,
  maybeTextList,
  numberReply,
  parseAppend,
  streamReply,
  textList,
} from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';

/** Typical size of an entry of a busy run, for a first guess of how many to read. */
const TYPICAL_ENTRY_BYTES = 8192;
const MAX_ENTRIES = 1000;
/** `removeExpired` removes ended runs. If nobody calls it, Redis expires them this much later. */
const EXPIRY_SLACK_MS = 24 * 3_600_000;

const EMPTY = Buffer.alloc(0);

interface LogState {
  /** The last event that readers may see. */
  last: number;
  /**
   * Events are hidden that nobody else may make visible: the run has ended, or its creator died before it made the
   * first events visible. Then the reader does it.
   */
  hasHidden: boolean;
  compressed: boolean;
}

/**
 * Event logs and transcripts. A log is a stream with one entry per append: id `<last>-0`, `f` the first sequence
 * number, `d` the frames, `e` on the terminal one. A compressed log is a single value instead.
 */
export class RedisLog extends RedisPart {
  /** Appends and publishes in one step. `header` precedes the frames in the message to subscribers. */
  append(id: RunId, batch: AppendBatch, header: string) {
    const keys = [this.keys.run(id), this.keys.log(id), this.keys.transcript(id)];
    const args = [
      batch.token,
      `${batch.first}`,
      `${batch.count}`,
      batch.count === 0 ? EMPTY : asBuffer(batch.frames),
      this.awaitsReplicas ? '' : this.keys.live(id),
      header,
    ];
    if (batch.end || batch.transcript) args.push(...this.#optionalArgs(batch));
    return this.script(SCRIPTS.append, keys, args).then(parseAppend);
  }

  #optionalArgs({ end, entriesBefore = -1, progress, transcript = [] }: AppendBatch): string[] {
    const ending = end
      ? [
          end.status,
          `${end.at}`,
          `${end.retainMs}`,
          `${Math.max(0, end.retainMs) + EXPIRY_SLACK_MS}`,
          this.now(),
          end.listed ?? '',
        ]
      : ['', '', '', '', '', ''];
    return [`${entriesBefore}`, progress ? '1' : '', ...ending, ...transcript];
  }

  /**
   * Makes visible to readers what replicas have by now: the whole log, or events up to `last`, for which subscribers
   * get `message`.
   * @throws GatewayError `store_unavailable` if a failover lost them before.
   */
  async makeVisible(id: RunId, events?: { last: number; message?: Buffer }): Promise<void> {
    const args = [`${events?.last ?? ''}`, this.keys.live(id), events?.message ?? ''];
    const shown = await this.script(SCRIPTS.makeVisible, [this.keys.run(id)], args);
    if (shown !== 1) throw storeUnavailable('its new master lacks what was written to the former one');
  }

  /** See `RunStore.read`. `hidden`: there is nothing to read until `makeVisible` is called. */
  async read(id: RunId, options: { after: number; maxBytes: number }): Promise<LogBatch[] | 'hidden'> {
    const [state, first] = await Promise.all([this.#state(id), this.#entries(id, options.after, guessCount(options))]);
    if (!state) return [];
    if (state.hasHidden && options.after >= state.last) return 'hidden';
    if (state.compressed) return (await (await this.#compressedLog(id))?.read(options)) ?? [];
    const joined = cutAfter(await this.#readMore(id, first, options), state.last);
    if (joined) {
      if (joined.first > options.after + 1) throw notContiguous(options.after + 1, joined.first);
      return [dropUpTo(joined, options.after)];
    }
    if (options.after >= state.last) return [];
    // The log was compressed or removed between the two commands, or is damaged.
    const current = await this.#state(id);
    if (!current) return [];
    if (current.compressed) return (await (await this.#compressedLog(id))?.read(options)) ?? [];
    throw notContiguous(options.after + 1, 'none');
  }

  /** Reads more batches after `first` until there are enough bytes. */
  async #readMore(id: RunId, first: LogBatch[], options: { maxBytes: number }): Promise<LogBatch | undefined> {
    const batches: LogBatch[] = [];
    let bytes = 0;
    let requested = guessCount(options);
    for (let found = first; ; found = await this.#entries(id, batches.at(-1)?.last ?? 0, requested)) {
      for (const batch of found) {
        if (bytes >= options.maxBytes) break;
        batches.push(batch);
        bytes += batch.frames.length;
      }
      if (found.length < requested || bytes >= options.maxBytes / 2) return joinBatches(batches);
      const average = Math.max(1, bytes / batches.length);
      requested = Math.min(MAX_ENTRIES, Math.ceil((options.maxBytes - bytes) / average));
    }
  }

  /**
   * See `RunStore.readLast`. `hidden`: as for `read`. Reads state and entry in one step: two could contradict each
   * other.
   */
  async readLast(id: RunId): Promise<LogBatch | undefined | 'hidden'> {
    const keys = [this.keys.run(id), this.keys.log(id)];
    const reply = await this.script(SCRIPTS.readLast, keys, [this.awaitsReplicas ? '1' : '0'], { binary: true });
    const [fields, entries] = lastEntryReply.parse(reply);
    const state = this.#stateOf(fields);
    if (!state) return undefined;
    if (state.hasHidden) return 'hidden';
    if (state.compressed) return await (await this.#compressedLog(id))?.readLast();
    return toBatches(entries)[0];
  }

  async transcript(id: RunId): Promise<string[]> {
    return textList.parse(await this.command('LRANGE', this.keys.transcript(id), '0', '-1'));
  }

  /**
   * Replaces the stream with a compressed log, from what `reader` reads of it. False if the run is gone or another instance
   * compressed it.
   */
  async compress(id: RunId, reader: Parameters<typeof compressLog>[0]): Promise<boolean> {
    const state = await this.#state(id);
    if (!state || state.compressed) return false;
    const compressed = await compressLog(reader);
    const keys = [this.keys.run(id), this.keys.log(id), this.keys.compressed(id)];
    return (await this.script(SCRIPTS.compress, keys, [compressed])) === 1;
  }

  async #state(id: RunId): Promise<LogState | undefined> {
    const reply = await this.command('HMGET', this.keys.run(id), ...LOG_FIELDS);
    return this.#stateOf(maybeTextList.parse(reply));
  }

  #stateOf([last, compressed, shown, endedAt]: readonly (string | null)[]): LogState | undefined {
    if (last == null) return undefined;
    const visible = this.awaitsReplicas && shown != null ? Math.min(Number(shown), Number(last)) : Number(last);
    const hasHidden = visible < Number(last) && (Boolean(endedAt) || visible === 0);
    return { last: visible, hasHidden, compressed: compressed === '1' };
  }

  /** At most `count` entries that hold events after `after`. */
  async #entries(id: RunId, after: number, count: number): Promise<LogBatch[]> {
    const range = ['XRANGE', this.keys.log(id), `(${after}-0`, '+', 'COUNT', `${count}`];
    return toBatches(await this.redis.command(range, { binary: true }));
  }

  async #compressedLog(id: RunId): Promise<CompressedLog | undefined> {
    const key = this.keys.compressed(id);
    return await CompressedLog.open({
      size: async () => numberReply.parse(await this.command('STRLEN', key)) || undefined,
      range: async (offset, length) => {
        const range = ['GETRANGE', key, `${offset}`, `${offset + length - 1}`];
        return bufferReply.parse(await this.redis.command(range, { binary: true }));
      },
    });
  }
}

/** The part of a batch up to `last`. Appends become visible as a whole, so the cut is between two of them. */
function cutAfter(batch: LogBatch | undefined, last: number): LogBatch | undefined {
  if (!batch || batch.last <= last) return batch;
  if (batch.first > last) return undefined;
  const frames = batch.frames.subarray(0, offsetAfter(batch.frames, last - batch.first + 1));
  return { first: batch.first, last, frames, end: false };
}

function guessCount(options: { maxBytes: number }): number {
  return Math.min(MAX_ENTRIES, Math.max(1, Math.ceil(options.maxBytes / TYPICAL_ENTRY_BYTES)));
}

function toBatches(reply: unknown): LogBatch[] {
  return streamReply.parse(reply).map(([id, fields]) => {
    const [, first, , frames, end] = fields;
    return {
      first: Number(first?.toString('latin1')),
      last: Number.parseInt(id.toString('latin1'), 10),
      frames: frames ?? EMPTY,
      end: end !== undefined,
    };
  });
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
