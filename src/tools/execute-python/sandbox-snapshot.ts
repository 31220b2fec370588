import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { sandboxCommand } from './command.ts';
import { keepSnapshot, openKept, snapshotKey } from './kept-snapshot.ts';
import { REPORT_FD } from './messages.ts';

/** Limits for making the snapshot. On a busy machine it takes far more time than CPU time. */
const TIMEOUT_MS = 300_000;
const CPU_SECONDS = 30;
const MEMORY_MB = 512;
/** The largest snapshot; that of an interpreter with a few modules takes 30 MB. */
const MAX_BYTES = 128 * 1024 * 1024;

/**
 * The memory of a freshly loaded interpreter, made once per installation. Starting from it takes a tenth of the CPU time of
 * loading Pyodide (measured: 0.25 s instead of 2.9 s). Where the installation cannot be written, it is stored in an unlinked
 * file, so that nothing is left behind, however this process ends.
 */
export class SandboxSnapshot implements AsyncDisposable {
  #file: Promise<FileHandle | undefined> | undefined;
  readonly #closing = new AbortController();

  /** The snapshot's descriptor, made at the first call; undefined, with a warning in the log, if making it failed. */
  async descriptor(log: Logger): Promise<number | undefined> {
    this.#file ??= this.#make().catch((error: unknown) => {
      log.warn({ reason: messageOf(error) }, 'no snapshot of the Python interpreter: every Python run starts slowly');
      return undefined;
    });
    return (await this.#file)?.fd;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the gateway is shutting down'));
    const file = await this.#file;
    await file?.close();
  }

  async #make(): Promise<FileHandle> {
    const key = await snapshotKey();
    const kept = await openKept(key);
    if (kept) return kept;
    const bytes = await withTimeout('the Python snapshot', TIMEOUT_MS, makeSnapshot, { signal: this.#closing.signal });
    await keepSnapshot(key, bytes).catch(() => {});
    return (await openKept(key)) ?? (await unlinkedFile(bytes));
  }
}

/** Opens an unlinked file with these bytes for reading. */
async function unlinkedFile(bytes: Uint8Array): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'research-gateway-python-'));
  try {
    const path = join(folder, 'snapshot.bin');
    await writeFile(path, bytes, { mode: 0o600 });
    return await open(path, 'r');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeSnapshot(signal: AbortSignal): Promise<Buffer> {
  const { file, args } = sandboxCommand('make-snapshot', { memoryMb: MEMORY_MB, cpuSeconds: CPU_SECONDS });
  const child = spawn(file, args, { env: {}, cwd: '/', stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  try {
    return await readSnapshot(child);
  } finally {
    kill();
    signal.removeEventListener('abort', kill);
  }
}

async function readSnapshot(child: ChildProcess): Promise<Buffer> {
  const ended = once(child, 'close');
  ended.catch(() => {});
  const chunks: Buffer[] = [];
  let size = 0;
  const stream = child.stdio[REPORT_FD];
  if (stream instanceof Readable) {
    for await (const chunk of stream) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
    }
  }
  const [code] = await ended;
  if (code !== 0 || size === 0) throw new Error(`making it ended with code ${code}`);
  return Buffer.concat(chunks, size);
}
