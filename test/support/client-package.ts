import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { load } from '../clients/load.ts';

const FOLDER = new URL('../clients/', import.meta.url);
const LOCKFILE = new URL('package-lock.json', FOLDER);
/** Holds the hash of the lockfile that was installed. */
const STAMP = new URL('node_modules/.installed-lockfile', FOLDER);
/** Holds the process that installs. */
const INSTALLING = new URL('.installing', FOLDER);
const LOOK_MS = 200;
const INSTALL_LIMIT_MS = 5 * 60_000;

/**
 * Imports a client: a package of `test/clients`, or a file of that folder such as `./langchain.ts`. Installs the packages
 * first if they do not match the lockfile.
 */
export async function loadClient<T>(name: string): Promise<T> {
  await installClients();
  return (await load(name)) as T;
}

/** Runs `npm ci` in `test/clients` if needed. @throws Error with the fix if that fails. */
async function installClients(): Promise<void> {
  const wanted = createHash('sha256').update(readFileSync(LOCKFILE)).digest('hex');
  const isInstalled = () => existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted;
  if (isInstalled()) return;
  // Test files run in several processes, and each would remove what another is installing.
  await turn();
  try {
    if (!isInstalled()) await install(wanted);
  } finally {
    rmSync(INSTALLING, { force: true });
  }
}

/** Waits until no other process installs. */
async function turn(): Promise<void> {
  for (;;) {
    try {
      writeFileSync(INSTALLING, `${process.pid}`, { flag: 'wx' });
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    if (!isAlive(holder())) rmSync(INSTALLING, { force: true });
    await setTimeout(LOOK_MS);
  }
}

/** The process that installs; undefined if it has just ended, or has not yet written its id. */
function holder(): number | undefined {
  try {
    return Number(readFileSync(INSTALLING, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function install(wanted: string): Promise<void> {
  const cwd = fileURLToPath(FOLDER);
  try {
    await promisify(execFile)('npm', ['ci', '--prefer-offline', '--no-progress', '--no-audit', '--no-fund'], {
      cwd,
      timeout: INSTALL_LIMIT_MS,
    });
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new Error(`The clients under test could not be installed: run "npm ci" in test/clients. ${said}`, {
      cause: error,
    });
  }
  writeFileSync(STAMP, wanted);
}

/** The time limit of a hook that may install the clients, in milliseconds. */
export const INSTALL_TIMEOUT_MS = INSTALL_LIMIT_MS + 30_000;
