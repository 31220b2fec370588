import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '../base/errors.ts';

/** The bytes of files in a folder: each under its id, in one of 256 folders by how it begins. */
export class FileFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Takes a stream to its end; nothing of it is a file before `keep`. Dispose what was not kept.
   * @throws GatewayError `request_too_large` beyond `most` bytes, `store_unavailable` where the disk is full or fails.
   */
  async take(source: Readable, { most, signal }: { most: number; signal: AbortSignal }): Promise<TakenBytes> {
    const folder = join(this.#path, INCOMING);
    const path = join(folder, randomUUID());
    let bytes = 0;
    const counted = async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (bytes > most) throw tooLarge(most);
        yield chunk;
      }
    };
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await pipeline(source, counted, createWriteStream(path, { mode: 0o600 }), { signal });
    } catch (thrown) {
      await rm(path, { force: true });
      throw isDiskFailure(thrown) ? diskFails(thrown) : thrown;
    }
    return {
      bytes,
      keep: async (id) => {
        await mkdir(join(this.#path, folderOf(id)), { recursive: true, mode: 0o700 });
        await rename(path, this.#pathOf(id));
      },
      [Symbol.asyncDispose]: () => rm(path, { force: true }),
    };
  }

  /** @throws the system's own error where there is none. */
  read(id: string): Promise<Buffer> {
    return readFile(this.#pathOf(id));
  }

  stream(id: string): Readable {
    return createReadStream(this.#pathOf(id));
  }

  async remove(id: string): Promise<void> {
    await rm(this.#pathOf(id), { force: true });
  }

  /** Removes what was being taken, and files that nobody knows, where they are older than `olderThanMs` milliseconds. */
  async sweep({ olderThanMs, isKnown }: { olderThanMs: number; isKnown(id: string): Promise<boolean> }): Promise<void> {
    const folders = await readdir(this.#path).catch(() => []);
    for (const folder of folders) {
      for (const name of await readdir(join(this.#path, folder)).catch(() => [])) {
        const path = join(this.#path, folder, name);
        const age =
          Date.now() -
          (await stat(path).then(
            ({ mtimeMs }) => mtimeMs,
            () => Number.POSITIVE_INFINITY,
          ));
        if (age > olderThanMs && (folder === INCOMING || !(await isKnown(name)))) await rm(path, { force: true });
      }
    }
  }

  #pathOf(id: string): string {
    return join(this.#path, folderOf(id), id);
  }
}

/** A stream that was taken. */
export interface TakenBytes extends AsyncDisposable {
  bytes: number;
  /** Makes it the file of this id. */
  keep(id: string): Promise<void>;
}

const INCOMING = 'incoming';

function folderOf(id: string): string {
  return id.slice(0, 2);
}

export function tooLarge(most: number): GatewayError {
  return new GatewayError('request_too_large', `file: files may have ${most} bytes at most (files.max_bytes).`, {
    param: 'file',
  });
}

function isDiskFailure(thrown: unknown): boolean {
  return (
    thrown instanceof Error && 'code' in thrown && /^E(?:NOSPC|DQUOT|ROFS|ACCES|IO|MFILE|NFILE)$/.test(`${thrown.code}`)
  );
}

function diskFails(cause: unknown): GatewayError {
  return new GatewayError('store_unavailable', 'The file cannot be stored now. Try again.', {
    retryAfterMs: 5000,
    cause,
  });
}
