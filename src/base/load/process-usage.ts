import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** How often a working process is looked at, in milliseconds. It can grow by some 50 MB meanwhile. */
const PROC_INTERVAL_MS = 40;
/** Starting `ps` costs more than reading a file. */
const PS_INTERVAL_MS = 500;

const MOST_WITH_WAIT = 10;

/** What a process has used. */
export interface ProcessUsage {
  /** Resident memory in bytes. Limits of the JavaScript heap do not see buffers: a small PDF inflates to gigabytes. */
  memoryBytes: number;
  /** How long it waited for a processor that others had, in milliseconds; 0 where the system does not tell. */
  heldUpMs: number;
}

/** What a process has used so far, or undefined if it is gone. */
export async function processUsage(pid: number): Promise<ProcessUsage | undefined> {
  if (process.platform === 'linux') {
    const memoryBytes = kibibytes(/^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1]);
    // Nanoseconds that its main thread ran, and that it was ready to run and did not.
    const [, waited = 0] = read(`/proc/${pid}/schedstat`).split(' ');
    return memoryBytes === undefined ? undefined : { memoryBytes, heldUpMs: Number(waited) / 1e6 };
  }
  const listed = await run('ps', ['-o', 'rss=', '-p', String(pid)], { timeout: 1000 }).catch(() => undefined);
  const memoryBytes = kibibytes(listed?.stdout.trim());
  return memoryBytes === undefined ? undefined : { memoryBytes, heldUpMs: 0 };
}

/** What a piece of work may take of a process. */
export interface WorkLimits {
  /**
   * Time without what the process waited for a processor, in milliseconds: how busy the machine is does not count. With
   * that wait, ten times as much.
   */
  timeMs: number;
  memoryBytes: number;
}

/**
 * Calls `onExceeded` once, when a process has taken more than `limits` from now on. Does not keep this process alive.
 * Dispose it when the work is over.
 */
export function limitProcess(
  pid: number | undefined,
  limits: WorkLimits,
  onExceeded: (what: 'time' | 'memory') => void,
): Disposable {
  const began = performance.now();
  const interval = process.platform === 'linux' ? PROC_INTERVAL_MS : PS_INTERVAL_MS;
  let heldUpBefore: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const look = async () => {
    const usage = pid === undefined ? undefined : await processUsage(pid);
    if (isOver) return;
    const heldUpMs = usage?.heldUpMs ?? 0;
    heldUpBefore ??= heldUpMs;
    const tookMs = performance.now() - began;
    const ownMs = Math.max(tookMs - (heldUpMs - heldUpBefore), tookMs / MOST_WITH_WAIT);
    if (usage && usage.memoryBytes > limits.memoryBytes) onExceeded('memory');
    else if (ownMs > limits.timeMs) onExceeded('time');
    else timer = setTimeout(() => void look(), interval).unref();
  };
  void look();
  return {
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/** Files of the kernel are there at once: reading one over the thread pool costs ten times as much. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

function kibibytes(text: string | undefined): number | undefined {
  return text && /^\d+$/.test(text) ? Number(text) * 1024 : undefined;
}
