import { createRequire } from 'node:module';

/** From here on Node's permissions refuse the network too. */
const REFUSES_NETWORK = 25;

/**
 * The Node that confined children run on: this one, or where it is too old to refuse them the network the one that npm
 * installed with the gateway. Where that is missing, the network is held by the system alone (`confinement.ts`).
 */
export function childrenNode(): string {
  const isNew = Number.parseInt(process.versions.node, 10) >= REFUSES_NETWORK;
  return (isNew ? undefined : bundledNode()) ?? process.execPath;
}

/** As in `research-gateway.js`, which old versions have to be able to read. */
function bundledNode(): string | undefined {
  const { resolve } = createRequire(import.meta.url);
  const platform = `${process.platform}-${process.arch}`;
  for (const name of [`node-${platform}`, `node-bin-${platform}`]) {
    try {
      return resolve(`${name}/bin/node`);
    } catch {
      // Optional dependencies may be left out.
    }
  }
  return undefined;
}
