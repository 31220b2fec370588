import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** How long a busy process computes before it looks whether it is still wanted, in milliseconds. */
const SPELL_MS = 50;

/** Processes that do nothing but compute, until disposed: what else a busy machine has to do. */
export function busyProcesses(count: number): Disposable {
  const children = Array.from({ length: count }, () => fork(fileURLToPath(import.meta.url), { execArgv: [] }));
  return {
    [Symbol.dispose]() {
      for (const child of children) child.kill('SIGKILL');
    },
  };
}

function compute(): void {
  const until = performance.now() + SPELL_MS;
  while (performance.now() < until);
  if (process.connected) setImmediate(compute);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit());
  compute();
}
