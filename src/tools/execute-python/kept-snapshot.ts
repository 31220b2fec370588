import { createHash, hash } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { COMPILE_CACHE_FOLDER } from '../../base/compile-cache.ts';
import { PROGRAMS, pyodideFolder } from './command.ts';

/**
 * A snapshot that is kept between starts, beside compiled code: who may write there could change the code as well. Its name
 * holds what it was made from and a digest of its bytes, so that a later version and a damaged file are not used.
 */
export const KEPT_FOLDER = join(dirname(COMPILE_CACHE_FOLDER), 'python');

/** Names what a snapshot depends on: this Node, Pyodide, and the programs of the sandbox. */
export async function snapshotKey(): Promise<string> {
  const programs = dirname(PROGRAMS.main);
  const names = (await readdir(programs)).sort();
  const files = [join(pyodideFolder(), 'package.json'), ...names.map((name) => join(programs, name))];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return hash('sha256', [process.version, process.arch, ...texts].join('\0')).slice(0, 32);
}

/** Opens the kept snapshot for reading; undefined if there is none, or none that is whole and readable. */
export async function openKept(key: string, folder = KEPT_FOLDER): Promise<FileHandle | undefined> {
  const names = await readdir(folder).catch(() => []);
  const name = names.find((each) => each.startsWith(key) && each.endsWith('.bin'));
  const file = name && (await open(join(folder, name)).catch(() => undefined));
  if (!file) return undefined;
  const digest = createHash('sha256');
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) digest.update(chunk);
  if (name === fileName(key, digest.digest('hex'))) return file;
  await file.close();
  return undefined;
}

/** Keeps this snapshot in place of all others. Rejects if the folder is not writable, as in a read-only image. */
export async function keepSnapshot(key: string, bytes: Uint8Array, folder = KEPT_FOLDER): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder)) await rm(join(folder, name), { force: true });
  const path = join(folder, fileName(key, hash('sha256', bytes)));
  await writeFile(`${path}.new`, bytes, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

function fileName(key: string, digest: string): string {
  return `${key}-${digest}.bin`;
}
