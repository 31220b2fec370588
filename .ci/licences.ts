import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * `npm run licences`: the licences of everything that the gateway is installed with, from package-lock.json, as a list
 * in Markdown. `npm run sbom` gives the same in the form that scanners read (CycloneDX).
 */

interface Locked {
  version?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
}

export interface Licence {
  name: string;
  version: string;
  licence: string;
  /** Installed where its platform is. */
  optional: boolean;
}

/** What is installed without development, once for each version. */
export function licences(): Licence[] {
  const path = fileURLToPath(new URL('../package-lock.json', import.meta.url));
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(readFileSync(path, 'utf8'));
  const found = new Map<string, Licence>();
  for (const [place, { version = '', license, dev, optional = false }] of Object.entries(packages)) {
    if (place === '' || dev) continue;
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
    found.set(`${name}@${version}`, { name, version, licence: license ?? 'unknown', optional });
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name));
}

if (import.meta.main) {
  const rows = licences().map(
    ({ name, version, licence, optional }) => `| ${name} | ${version} | ${licence} | ${optional ? 'optional' : ''} |`,
  );
  console.log(['| package | version | licence | |', '| --- | --- | --- | --- |', ...rows].join('\n'));
}
