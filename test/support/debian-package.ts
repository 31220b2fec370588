import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Waits for other installations, because test files, and even whole suites, may run in parallel. */
const LOCK = join(tmpdir(), 'research-gateway-apt.lock');
const SCRIPT = 'apt-get update -q && apt-get install -y -q --no-install-recommends "$0"';

/** Installs a Debian package. Returns the error on one line, or undefined if there was none. */
export function installPackage(name: string): string | undefined {
  const { status, error, stderr } = spawnSync('flock', ['-w', '300', LOCK, 'sh', '-c', SCRIPT, name], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 600_000,
  });
  if (status === 0) return undefined;
  return error?.message ?? stderr?.toString().trim().split('\n').at(-1) ?? 'no reason given';
}
