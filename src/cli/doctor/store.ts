import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { silentLogger } from '../../base/logger.ts';
import type { GatewayConfig } from '../../config/schema.ts';
import { checkStore } from '../../store/maintenance.ts';
import type { Finding } from './finding.ts';
import { diskFinding } from './system.ts';

type Stores = Pick<GatewayConfig, 'store' | 'files'>;

/** Whether the store can be reached and written to, and has room. Changes nothing. */
export async function storeFindings({ store, files }: Stores): Promise<Finding[]> {
  const findings: Finding[] = [];
  const folders = new Set<string>();
  if (store.url === 'memory:') {
    findings.push({ state: 'note', about: 'store', detail: 'in memory: what it holds is gone with the process' });
  } else if (store.url.startsWith('file:')) {
    const folder = folderOf(store.url);
    findings.push(await folderFinding(folder));
    folders.add(nearestExisting(folder));
  } else findings.push(await redisFinding(store));
  if (files.url?.startsWith('file:')) {
    const folder = folderOf(files.url);
    folders.add(nearestExisting(folder));
    const problem = whyNotWritable(nearestExisting(folder));
    if (problem !== undefined) findings.push({ ...wrong('files', problem), fix: 'set files.url to another folder' });
  }
  return [...findings, ...(await Promise.all([...folders].filter(isFolder).map(diskFinding)))];
}

async function folderFinding(folder: string): Promise<Finding> {
  const fix = 'set store.url to a folder that this user may write to';
  const problem = whyNotWritable(nearestExisting(folder));
  if (problem !== undefined) return { ...wrong('store', problem), fix };
  const { inspectStore } = await import('../../store/sqlite/maintenance.ts');
  try {
    const { version, known, used } = inspectStore(folder);
    const database = join(folder, 'runs.db');
    const fileProblem = version === undefined ? undefined : whyNotWritable(database);
    if (fileProblem !== undefined) return { ...wrong('store', fileProblem), fix };
    if (version !== undefined && version > known) {
      const detail = `${database} has version ${version}; this gateway knows ${known}`;
      return { ...wrong('store', detail), fix: 'start the gateway that wrote it or a newer one, or set store.url' };
    }
    const what = version === undefined ? `${folder} is new` : `${folder} can be used`;
    return { state: 'ok', about: 'store', detail: used ? `a gateway uses ${folder}` : what };
  } catch (thrown) {
    return {
      ...wrong('store', messageOf(thrown)),
      fix: 'put a backup in its place (`store restore`), or move runs.db away to begin anew',
    };
  }
}

async function redisFinding(store: GatewayConfig['store']): Promise<Finding> {
  const fix = 'start Redis, or see store.url, its password and store.tls';
  try {
    const { summary, problems } = await checkStore(store, { log: silentLogger });
    if (problems.length === 0) return { state: 'ok', about: 'store', detail: summary };
    return { ...wrong('store', problems.join('; ')), fix };
  } catch (thrown) {
    return { ...wrong('store', messageOf(thrown)), fix };
  }
}

function wrong(about: string, detail: string): Finding {
  return { state: 'wrong', about, detail };
}

function folderOf(url: string): string {
  return url.slice('file:'.length);
}

/** Whether the audit's file can be appended to, or made. */
export function auditFindings({ audit }: GatewayConfig['logging']): Finding[] {
  if (audit === undefined || audit === 'stdout') return [];
  const problem = whyNotAppendable(audit);
  return problem === undefined ? [] : [{ ...wrong('audit', problem), fix: 'make the folder, or set logging.audit' }];
}

function whyNotAppendable(path: string): string | undefined {
  try {
    if (!existsSync(path)) {
      const folder = dirname(path);
      return existsSync(folder) ? whyNotWritable(folder) : `${folder} does not exist`;
    }
    if (isFolder(path)) return `${path} is a folder`;
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** The path itself, or the closest parent that exists. */
function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

function isFolder(path: string): boolean {
  return statSync(path).isDirectory();
}

/** Why an existing path cannot be written to; undefined if it can. */
function whyNotWritable(path: string): string | undefined {
  try {
    const isDirectory = isFolder(path);
    if (!isDirectory && !path.endsWith('.db')) return `${path} is no folder`;
    accessSync(path, constants.R_OK | constants.W_OK | (isDirectory ? constants.X_OK : 0));
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}
