import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Mounts a small disk; undefined if this user may not mount one. */
export async function mountDisk(size: string): Promise<(AsyncDisposable & { path: string }) | undefined> {
  const path = await mkdtemp(join(tmpdir(), 'disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path]);
  if (mounted.status !== 0) {
    await rm(path, { recursive: true });
    return undefined;
  }
  return {
    path,
    async [Symbol.asyncDispose]() {
      spawnSync('umount', ['-l', path]);
      await rm(path, { recursive: true, force: true });
    },
  };
}
