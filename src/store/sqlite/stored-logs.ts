import type { DatabaseSync } from 'node:sqlite';
import type { StoredBytes } from '../compressed-log.ts';
import { dropUpTo, joinBatches, notContiguous } from '../frames.ts';
import type { LogBatch } from '../run-store.ts';
import { blob, integer, type Row, text } from './rows.ts';

/** Reads event logs and transcripts, by the key of their run. */
export class StoredLogs {
  readonly #read;
  readonly #last;
  readonly #compressedSize;
  readonly #compressedRange;
  readonly #transcript;

  constructor(db: DatabaseSync) {
    this.#read = db.prepare('SELECT first, last, end, frames FROM batches WHERE run = ? AND last > ? ORDER BY last');
    this.#last = db.prepare('SELECT first, last, end, frames FROM batches WHERE run = ? ORDER BY last DESC LIMIT 1');
    this.#compressedSize = db.prepare('SELECT length(log) AS size FROM sealed_logs WHERE run = ?');
    this.#compressedRange = db.prepare('SELECT substr(log, ?, ?) AS bytes FROM sealed_logs WHERE run = ?');
    this.#transcript = db.prepare('SELECT entry FROM transcript WHERE run = ? ORDER BY key');
  }

  /** Reads stored batches after `after`, joined into one; see `RunStore.read`. `last`: the last event of the log. */
  read(key: number, last: number, options: { after: number; maxBytes: number }): LogBatch[] {
    if (options.after >= last) return [];
    const batches: LogBatch[] = [];
    let bytes = 0;
    for (const row of this.#read.iterate(key, options.after)) {
      const batch = toBatch(row);
      batches.push(batch);
      bytes += batch.frames.length;
      if (bytes >= options.maxBytes) break;
    }
    const joined = joinBatches(batches);
    if (!joined) throw notContiguous(options.after + 1, 'none');
    if (joined.first > options.after + 1) throw notContiguous(options.after + 1, joined.first);
    return [dropUpTo(joined, options.after)];
  }

  readLast(key: number): LogBatch | undefined {
    const row = this.#last.get(key);
    return row && toBatch(row);
  }

  compressed(key: number): StoredBytes {
    return {
      size: () => {
        const row = this.#compressedSize.get(key);
        return row && integer(row, 'size');
      },
      range: (offset, length) => {
        const row = this.#compressedRange.get(offset + 1, length, key);
        if (!row) return Buffer.alloc(0);
        const bytes = blob(row, 'bytes');
        return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      },
    };
  }

  transcript(key: number): string[] {
    return this.#transcript.all(key).map((row) => text(row, 'entry'));
  }
}

function toBatch(row: Row): LogBatch {
  return {
    first: integer(row, 'first'),
    last: integer(row, 'last'),
    frames: blob(row, 'frames'),
    end: integer(row, 'end') === 1,
  };
}
