import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import {
  type BlobStore,
  blobStoreUnavailable,
  fileTooLarge,
  type ReceivedBlob,
  type SweepOptions,
} from './blob-store.ts';

const INCOMING = 'incoming';

/** Stores the bytes of files in a folder: each under its id, in one of 256 subfolders by the start of the id. */
export class FolderBlobStore implements BlobStore {
  readonly #path: string;
  readonly #log: Logger;
  readonly #isTemporary: boolean;

  /** @param isTemporary whether the folder is removed on disposal. */
  constructor(path: string, { log, isTemporary = false }: { log: Logger; isTemporary?: boolean }) {
    this.#path = path;
    this.#log = log;
    this.#isTemporary = isTemporary;
  }

  [Symbol.dispose](): void {
    if (this.#isTemporary) rmSync(this.#path, { recursive: true, force: true });
  }

  async receive(
    source: Readable,
    { id, maxBytes, signal }: { id: string; maxBytes: number; signal: AbortSignal },
  ): Promise<ReceivedBlob> {
    const folder = join(this.#path, INCOMING);
    const path = join(folder, randomUUID());
    let bytes = 0;
    const counted = async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw fileTooLarge(maxBytes);
        yield chunk;
      }
    };
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // A write stream of a path opens it later, perhaps after its removal below.
      const file = await open(path, 'wx', 0o600);
      await pipeline(source, counted, file.createWriteStream(), { signal });
    } catch (thrown) {
      await rm(path, { force: true }).catch(() => {});
      throw signal.aborted ? signal.reason : this.#failureOf(thrown);
    }
    return {
      id,
      bytes,
      commit: async () => {
        try {
          await mkdir(join(this.#path, folderOf(id)), { recursive: true, mode: 0o700 });
          await rename(path, this.#pathOf(id));
        } catch (thrown) {
          throw this.#failureOf(thrown);
        }
      },
      [Symbol.asyncDispose]: () => rm(path, { force: true }),
    };
  }

  read(id: string, signal: AbortSignal): Promise<Buffer | undefined> {
    return readFile(this.#pathOf(id), { signal }).catch((thrown: unknown) => this.#absent(thrown, signal));
  }

  async stream(id: string, signal: AbortSignal): Promise<Readable | undefined> {
    const file = await open(this.#pathOf(id)).catch((thrown: unknown) => this.#absent(thrown, signal));
    return file?.createReadStream({ signal });
  }

  async remove(id: string): Promise<void> {
    await rm(this.#pathOf(id), { force: true }).catch((thrown: unknown) => {
      throw this.#failureOf(thrown);
    });
  }

  async sweep({ olderThanMs, isKnown, signal }: SweepOptions): Promise<void> {
    const folders = await readdir(this.#path).catch(() => []);
    for (const folder of folders) {
      for (const name of await readdir(join(this.#path, folder)).catch(() => [])) {
        signal.throwIfAborted();
        const path = join(this.#path, folder, name);
        const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Number.POSITIVE_INFINITY);
        if (age > olderThanMs && (folder === INCOMING || !(await isKnown(name))))
          await rm(path, { force: true }).catch(() => {});
      }
    }
  }

  /** Reports failures of the disk as such; the error of a broken stream stays as it is. */
  #failureOf(thrown: unknown): unknown {
    const isOfDisk = /^E(?:NOSPC|DQUOT|FBIG|ROFS|ACCES|PERM|IO|MFILE|NFILE|NOENT|NOTDIR)$/.test(codeOf(thrown));
    return isOfDisk ? this.#unavailable(thrown) : thrown;
  }

  /** Returns undefined if the error says that there is no such file; throws any other. */
  #absent(thrown: unknown, signal: AbortSignal): undefined {
    signal.throwIfAborted();
    if (codeOf(thrown) !== 'ENOENT') throw this.#unavailable(thrown);
  }

  /** Logs a failure, and returns the error that clients get. */
  #unavailable(cause: unknown): Error {
    this.#log.warn({ err: messageOf(cause) }, 'the folder of files (files.url) fails');
    return blobStoreUnavailable(cause);
  }

  #pathOf(id: string): string {
    return join(this.#path, folderOf(id), id);
  }
}

function folderOf(id: string): string {
  return id.slice(0, 2);
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? `${thrown.code}` : '';
}
