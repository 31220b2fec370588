import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { once } from '../once.ts';

/** The first major version whose `--permission` also denies the network. */
const DENIES_NETWORK = 25;

/**
 * The path of the Node that confined children run on: this one or, if it is too old to deny them the network, the one
 * that npm installed with the gateway. Without either, only the system keeps them off the network (`confinement.ts`).
 */
export function confinedNodePath(): string {
  return Number.parseInt(process.versions.node, 10) >= DENIES_NETWORK ? process.execPath : installedNode().node;
}

/** Found once, the same way as in `research-gateway.js`, which has to run on old versions and cannot share this code. */
const installedNode = once((): { node: string } => {
  const { resolve } = createRequire(import.meta.url);
  const platform = `${process.platform}-${process.arch}`;
  for (const name of [`node-${platform}`, `node-bin-${platform}`]) {
    try {
      const node = resolve(`${name}/bin/node`);
      const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
      if (Number.parseInt(version, 10) >= DENIES_NETWORK) return { node };
    } catch {
      // Not installed, or built for another system.
    }
  }
  return { node: process.execPath };
});
