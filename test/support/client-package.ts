import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { load } from '../clients/load.ts';

const FOLDER = new URL('../clients/', import.meta.url);
const LOCKFILE = new URL('package-lock.json', FOLDER);
/** Holds the hash of the lockfile that was installed. */
const STAMP = new URL('node_modules/.installed-lockfile', FOLDER);
const INSTALL_LIMIT_MS = 5 * 60_000;

/**
 * Imports a client: a package of `test/clients`, or a file of that folder such as `./langchain.ts`. The package is
 * installed first where it is not there as its lockfile says.
 */
export async function loadClient<T>(name: string): Promise<T> {
  await installClients();
  return (await load(name)) as T;
}

/** Runs `npm ci` in `test/clients` where needed. @throws Error with what to do where that fails. */
async function installClients(): Promise<void> {
  const wanted = createHash('sha256').update(readFileSync(LOCKFILE)).digest('hex');
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) return;
  const cwd = fileURLToPath(FOLDER);
  try {
    await promisify(execFile)('npm', ['ci', '--no-progress'], { cwd, timeout: INSTALL_LIMIT_MS });
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new Error(`The clients under test could not be installed: run "npm ci" in test/clients. ${said}`, {
      cause: error,
    });
  }
  writeFileSync(STAMP, wanted);
}

/** Milliseconds that a hook which may install the clients gets. */
export const INSTALL_TIMEOUT_MS = INSTALL_LIMIT_MS + 30_000;
