import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** `/proc/<pid>/statm` counts pages of this size on the platforms that Node supports, but for some ARM systems. */
const PAGE_BYTES = 4096;
const PROC_INTERVAL_MS = 50;
/** Starting `ps` costs more than reading a file. */
const PS_INTERVAL_MS = 500;

/** Resident memory of a process in bytes; 0 where it has ended. Reads `/proc` on Linux and asks `ps` elsewhere. */
export async function residentBytes(pid: number): Promise<number> {
  try {
    if (process.platform === 'linux') {
      const pages = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')[1];
      return Number(pages) * PAGE_BYTES;
    }
    const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)], { timeout: 2_000 });
    return Number(stdout.trim()) * 1024;
  } catch {
    return 0;
  }
}

/**
 * Calls `onExceeded` once when the process has more than `limitBytes` resident. Counts what a limit on WebAssembly
 * memory does not see: files in Python's file system are JavaScript buffers.
 */
export function watchMemory(pid: number, limitBytes: number, onExceeded: () => void): Disposable {
  const interval = process.platform === 'linux' ? PROC_INTERVAL_MS : PS_INTERVAL_MS;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const check = async () => {
    const bytes = await residentBytes(pid);
    if (stopped) return;
    if (bytes > limitBytes) onExceeded();
    else schedule();
  };
  const schedule = () => {
    timer = setTimeout(() => void check(), interval);
    timer.unref();
  };
  schedule();
  return {
    [Symbol.dispose]() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
