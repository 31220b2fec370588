import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** How often a working process is checked, in milliseconds. It can grow by some 50 MB in between. */
const PROC_INTERVAL_MS = 40;
/** The same where `ps` has to be started, which costs more than reading a file. */
const PS_INTERVAL_MS = 500;

/** Wall time counts as at least this fraction, so that a process that only waits for the CPU ends too. */
const MIN_COUNTED_SHARE = 1 / 10;

/** What a process has used so far. */
export interface ProcessUsage {
  /** Resident memory in bytes. Limits of the JavaScript heap do not see buffers: a small PDF inflates to gigabytes. */
  memoryBytes: number;
  /** How long it was ready to run and waited for a CPU, in milliseconds; 0 where the system does not report it. */
  cpuWaitMs: number;
}

/** What a process has used so far, or undefined if it is gone. */
export async function processUsage(pid: number): Promise<ProcessUsage | undefined> {
  if (process.platform === 'linux') {
    const memoryBytes = kibibytes(/^VmRSS:\s+(\d+) kB$/m.exec(readProcFile(`/proc/${pid}/status`))?.[1]);
    // Nanoseconds that the main thread ran, and that it was ready to run but waited.
    const [, waited = 0] = readProcFile(`/proc/${pid}/schedstat`).split(' ');
    return memoryBytes === undefined ? undefined : { memoryBytes, cpuWaitMs: Number(waited) / 1e6 };
  }
  const listed = await run('ps', ['-o', 'rss=', '-p', String(pid)], { timeout: 1000 }).catch(() => undefined);
  const memoryBytes = kibibytes(listed?.stdout.trim());
  return memoryBytes === undefined ? undefined : { memoryBytes, cpuWaitMs: 0 };
}

/** How much a process may use for a piece of work. */
export interface WorkLimits {
  /**
   * Time without waits for a CPU, in milliseconds, so that a busy machine does not count against the work. Including
   * those waits, ten times as much.
   */
  timeMs: number;
  memoryBytes: number;
}

/**
 * Watches a process and calls `onExceeded` once if it uses more than `limits` from now on. Does not keep this process
 * alive. Dispose it when the work is over.
 */
export function limitProcess(
  pid: number | undefined,
  limits: WorkLimits,
  onExceeded: (what: 'time' | 'memory') => void,
): Disposable {
  const startedAt = performance.now();
  const interval = process.platform === 'linux' ? PROC_INTERVAL_MS : PS_INTERVAL_MS;
  let cpuWaitBefore: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let isTooLate = false;
  const check = async () => {
    const usage = pid === undefined ? undefined : await processUsage(pid);
    if (isOver) return;
    const cpuWaitMs = usage?.cpuWaitMs ?? 0;
    cpuWaitBefore ??= cpuWaitMs;
    const elapsedMs = performance.now() - startedAt;
    const countedMs = Math.max(elapsedMs - (cpuWaitMs - cpuWaitBefore), elapsedMs * MIN_COUNTED_SHARE);
    if (usage && usage.memoryBytes > limits.memoryBytes) onExceeded('memory');
    else if (isTooLate) onExceeded('time');
    else {
      // Where this process was kept from running, the answer may have come long ago and is read before the next check.
      isTooLate = countedMs > limits.timeMs;
      timer = setTimeout(() => void check(), isTooLate ? 0 : interval).unref();
    }
  };
  void check();
  return {
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/** Reads a file of /proc, which never blocks: an asynchronous read costs ten times as much. */
function readProcFile(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

function kibibytes(text: string | undefined): number | undefined {
  return text && /^\d+$/.test(text) ? Number(text) * 1024 : undefined;
}
