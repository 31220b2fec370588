import type { RunId } from '../../../base/ids.ts';
import { type CompressedLog, CompressedLogs, compressLog } from '../../compressed-log.ts';
import { unavailable } from '../../failure.ts';
import { dropUpTo, joinBatches, notContiguous, offsetAfter } from '../../frames.ts';
import type { Append, LogBatch } from '../../run-store.ts';
import { RedisPart } from '../part.ts';
import {
  bufferReply,
  LOG_FIELDS,
  lastReply,
  maybeTextList,
  numberReply,
  parseAppend,
  streamReply,
  textList,
} from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';

/** Memory for finished logs that are read again and again. */
const COMPRESSED_LOGS_BYTES = 32 * 1024 ** 2;
/** What an entry of a busy run's log weighs, for a first guess of how many to ask for. */
const TYPICAL_ENTRY_BYTES = 8192;
const MOST_ENTRIES = 1000;
/**
 * Ended runs are removed by `removeExpired`; Redis forgets them by itself this much later, should nobody come to do it.
 */
const EXPIRY_SLACK_MS = 24 * 3_600_000;

const EMPTY = Buffer.alloc(0);

interface LogState {
  /** The last event that readers see. */
  last: number;
  /**
   * Nobody may come to show what is held back: the run has ended, or its creator was the one to show how it begins.
   * A reader does it then.
   */
  hides: boolean;
  compressed: boolean;
}

/**
 * Event logs and transcripts. A log is a stream with one entry per append: id `<last>-0`, `f` the first sequence
 * number, `d` the frames, `e` on the terminal one. A compressed log is one compressed value instead.
 */
export class RedisLog extends RedisPart {
  readonly #compressed = new CompressedLogs(COMPRESSED_LOGS_BYTES);

  /** Appends and publishes in one step. `header` goes before the frames in the message to subscribers. */
  append(id: RunId, batch: Append, header: string) {
    const keys = [this.keys.run(id), this.keys.log(id), this.keys.transcript(id)];
    const args = [
      batch.token,
      `${batch.first}`,
      `${batch.count}`,
      batch.count === 0 ? EMPTY : asBuffer(batch.frames),
      this.awaitsReplicas ? '' : this.keys.live(id),
      header,
    ];
    if (batch.end || batch.transcript) args.push(...this.#furtherArgs(batch));
    return this.script(SCRIPTS.append, keys, args).then(parseAppend);
  }

  #furtherArgs({ end, entriesBefore = -1, progress, transcript = [] }: Append): string[] {
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
   * Shows readers what replicas have by now: all that is there, or events up to `last`, of which subscribers get the
   * message.
   * @throws GatewayError `store_unavailable` where a failover took it back before replicas were asked.
   */
  async show(id: RunId, events?: { last: number; message?: Buffer }): Promise<void> {
    const args = [`${events?.last ?? ''}`, this.keys.live(id), events?.message ?? ''];
    const shown = await this.script(SCRIPTS.show, [this.keys.run(id)], args);
    if (shown !== 1) throw unavailable('its new master lacks what was written to the former one');
  }

  /** See `RunStore.read`. `hidden`: there is nothing before `show` was called. */
  async read(id: RunId, options: { after: number; maxBytes: number }): Promise<LogBatch[] | 'hidden'> {
    const [state, first] = await Promise.all([this.#state(id), this.#entries(id, options.after, guess(options))]);
    if (!state) return [];
    if (state.hides && options.after >= state.last) return 'hidden';
    if (state.compressed) return (await (await this.#compressedLog(id))?.read(options)) ?? [];
    const joined = cutBehind(await this.#readOn(id, first, options), state.last);
    if (joined) {
      if (joined.first > options.after + 1) throw notContiguous(options.after + 1, joined.first);
      return [dropUpTo(joined, options.after)];
    }
    if (options.after >= state.last) return [];
    // Compressed or removed between the two commands, or damaged.
    const now = await this.#state(id);
    if (!now) return [];
    if (now.compressed) return (await (await this.#compressedLog(id))?.read(options)) ?? [];
    throw notContiguous(options.after + 1, 'none');
  }

  /** Reads on behind `first` until there is enough. */
  async #readOn(id: RunId, first: LogBatch[], options: { maxBytes: number }): Promise<LogBatch | undefined> {
    const batches: LogBatch[] = [];
    let bytes = 0;
    let asked = guess(options);
    for (let found = first; ; found = await this.#entries(id, batches.at(-1)?.last ?? 0, asked)) {
      for (const batch of found) {
        if (bytes >= options.maxBytes) break;
        batches.push(batch);
        bytes += batch.frames.length;
      }
      if (found.length < asked || bytes >= options.maxBytes / 2) return joinBatches(batches);
      const average = Math.max(1, bytes / batches.length);
      asked = Math.min(MOST_ENTRIES, Math.ceil((options.maxBytes - bytes) / average));
    }
  }

  /** See `RunStore.readLast`. `hidden`: as above. State and entry are of one moment: two reads may lie about an end. */
  async readLast(id: RunId): Promise<LogBatch | undefined | 'hidden'> {
    const keys = [this.keys.run(id), this.keys.log(id)];
    const reply = await this.script(SCRIPTS.last, keys, [this.awaitsReplicas ? '1' : '0'], { binary: true });
    const [fields, entries] = lastReply.parse(reply);
    const state = this.#stateOf(fields);
    if (!state) return undefined;
    if (state.hides) return 'hidden';
    if (state.compressed) return await (await this.#compressedLog(id))?.readLast();
    return toBatches(entries)[0];
  }

  async transcript(id: RunId): Promise<string[]> {
    return textList.parse(await this.command('LRANGE', this.keys.transcript(id), '0', '-1'));
  }

  /** Puts a compressed log in the place of the stream. False where the run is gone or was compressed by another instance. */
  async compress(id: RunId): Promise<boolean> {
    const state = await this.#state(id);
    if (!state || state.compressed) return false;
    const compressed = await compressLog({
      read: async (range) => visible(await this.read(id, range)),
      readLast: async () => visible(await this.readLast(id)),
    });
    const keys = [this.keys.run(id), this.keys.log(id), this.keys.compressed(id)];
    return (await this.script(SCRIPTS.compress, keys, [compressed])) === 1;
  }

  forget(id: RunId): void {
    this.#compressed.forget(id);
  }

  async #state(id: RunId): Promise<LogState | undefined> {
    const reply = await this.command('HMGET', this.keys.run(id), ...LOG_FIELDS);
    return this.#stateOf(maybeTextList.parse(reply));
  }

  #stateOf([last, compressed, shown, endedAt]: readonly (string | null)[]): LogState | undefined {
    if (last == null) return undefined;
    const seen = this.awaitsReplicas && shown != null ? Math.min(Number(shown), Number(last)) : Number(last);
    const hides = seen < Number(last) && (Boolean(endedAt) || seen === 0);
    return { last: seen, hides, compressed: compressed === '1' };
  }

  /** Entries that hold events after `after`, at most `count`. */
  async #entries(id: RunId, after: number, count: number): Promise<LogBatch[]> {
    const range = ['XRANGE', this.keys.log(id), `(${after}-0`, '+', 'COUNT', `${count}`];
    return toBatches(await this.redis.command(range, { binary: true }));
  }

  async #compressedLog(id: RunId): Promise<CompressedLog | undefined> {
    const key = this.keys.compressed(id);
    return await this.#compressed.get(id, {
      size: async () => numberReply.parse(await this.command('STRLEN', key)) || undefined,
      range: async (offset, length) => {
        const range = ['GETRANGE', key, `${offset}`, `${offset + length - 1}`];
        return bufferReply.parse(await this.redis.command(range, { binary: true }));
      },
    });
  }
}

function visible<T>(found: T | 'hidden'): T {
  if (found === 'hidden') throw unavailable('replicas do not have the end of a run yet');
  return found;
}

/** What a batch holds up to `last`. Appends are held back whole, so it is cut between two of them. */
function cutBehind(batch: LogBatch | undefined, last: number): LogBatch | undefined {
  if (!batch || batch.last <= last) return batch;
  if (batch.first > last) return undefined;
  const frames = batch.frames.subarray(0, offsetAfter(batch.frames, last - batch.first + 1));
  return { first: batch.first, last, frames, end: false };
}

function guess(options: { maxBytes: number }): number {
  return Math.min(MOST_ENTRIES, Math.max(1, Math.ceil(options.maxBytes / TYPICAL_ENTRY_BYTES)));
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
