import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * The resident memory of a process in bytes, or undefined if it is gone. Limits of the JavaScript heap do not see
 * buffers: a small PDF can inflate to gigabytes outside of it.
 */
export async function residentMemory(pid: number): Promise<number | undefined> {
  if (process.platform === 'linux') {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    return kibibytes(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  }
  const listed = await run('ps', ['-o', 'rss=', '-p', String(pid)], { timeout: 1000 }).catch(() => undefined);
  return kibibytes(listed?.stdout.trim());
}

function kibibytes(text: string | undefined): number | undefined {
  return text && /^\d+$/.test(text) ? Number(text) * 1024 : undefined;
}
