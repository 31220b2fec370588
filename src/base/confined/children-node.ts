import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { once } from '../once.ts';

/** From here on Node's permissions refuse the network too. */
const REFUSES_NETWORK = 25;

/**
 * The Node that confined children run on: this one, or where it is too old to refuse them the network the one that npm
 * installed with the gateway. Where that is missing, the network is held by the system alone (`confinement.ts`).
 */
export function childrenNode(): string {
  return Number.parseInt(process.versions.node, 10) >= REFUSES_NETWORK ? process.execPath : installed().node;
}

/** As in `research-gateway.js`, which old versions have to be able to read. Looked for once. */
const installed = once((): { node: string } => {
  const { resolve } = createRequire(import.meta.url);
  const platform = `${process.platform}-${process.arch}`;
  for (const name of [`node-${platform}`, `node-bin-${platform}`]) {
    try {
      const node = resolve(`${name}/bin/node`);
      const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
      if (Number.parseInt(version, 10) >= REFUSES_NETWORK) return { node };
    } catch {
      // Not installed, or made for another system.
    }
  }
  return { node: process.execPath };
});
