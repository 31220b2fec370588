import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { licences } from '../../.ci/licences.ts';

const names = z.record(z.string(), z.string()).default({});
const lockfile = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      optionalDependencies: names,
      resolved: z.string().optional(),
      integrity: z.string().optional(),
      hasInstallScript: z.boolean().default(false),
    }),
  ),
});

describe('package-lock.json', () => {
  const { packages } = lockfile.parse(
    JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')),
  );

  // `npm install` leaves out platform packages that its registry does not have, and `npm ci` then refuses the file.
  it('has an entry for every optional dependency of every platform', () => {
    const wanted = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies));
    assert.ok(wanted.length > 0);
    assert.deepEqual(
      wanted.filter((name) => !packages[`node_modules/${name}`]),
      [],
    );
  });

  // A version that the registry has for some platforms only leaves entries without a hash: pin an older one that it has
  // for all (`overrides` in package.json).
  it('has a SHA-512 hash for every package, on every platform', () => {
    const unsure = Object.entries(packages).filter(([place, entry]) => {
      return place !== '' && !/^sha512-[\w+/]{86}==$/.test(entry.integrity ?? '');
    });
    assert.deepEqual(
      unsure.map(([place]) => place),
      [],
    );
  });

  it('runs no install scripts: npm ignores them, and only two known packages have one', () => {
    const npmrc = readFileSync(new URL('../../.npmrc', import.meta.url), 'utf8');
    assert.match(npmrc, /^ignore-scripts=true$/m);
    const scripted = Object.entries(packages).filter(([, entry]) => entry.hasInstallScript);
    // Telemetry, and a native addon that falls back to JavaScript.
    assert.deepEqual(scripted.map(([place]) => place).sort(), [
      'node_modules/@scarf/scarf',
      'node_modules/msgpackr-extract',
    ]);
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    assert.deepEqual(manifest.scarfSettings, { enabled: false });
  });

  it('has only licences that allow redistribution with the gateway', () => {
    const allowed = ['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'MPL-2.0', 'BlueOak-1.0.0'];
    const others = licences().filter(({ licence }) => !allowed.includes(licence));
    assert.ok(licences().length > 100);
    assert.deepEqual(others, []);
  });

  it('contains no registry URLs, so that it works with any registry', () => {
    const resolved = Object.entries(packages).filter(([, entry]) => entry.resolved !== undefined);
    assert.deepEqual(resolved, []);
  });
});
