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
  it('says what every package must be, on every platform', () => {
    const unsure = Object.entries(packages).filter(([place, entry]) => {
      return place !== '' && !/^sha512-[\w+/]{86}==$/.test(entry.integrity ?? '');
    });
    assert.deepEqual(
      unsure.map(([place]) => place),
      [],
    );
  });

  it('brings no script that an installation runs: each is denied, and what is not known stops the installation', () => {
    const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
    const scripted = Object.entries(packages).filter(([, entry]) => entry.hasInstallScript);
    const names = scripted.map(([place]) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length));
    // The telemetry of one, and the native half of another that has a half in JavaScript too.
    const { allowScripts, scarfSettings } = JSON.parse(read('package.json'));
    assert.deepEqual(allowScripts, Object.fromEntries(names.sort().map((name) => [name, false])));
    assert.deepEqual(scarfSettings, { enabled: false });
    assert.match(read('.npmrc'), /^strict-allow-scripts=true$/m);
    // Versions of npm before 11.16 know neither.
    for (const place of ['.ci/run', 'Dockerfile']) assert.match(read(place), /npm ci .*--ignore-scripts/);
  });

  it('has only licences that may be passed on with the gateway', () => {
    const allowed = ['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'MPL-2.0', 'BlueOak-1.0.0'];
    const others = licences().filter(({ licence }) => !allowed.includes(licence));
    assert.ok(licences().length > 100);
    assert.deepEqual(others, []);
  });

  it('names no registry, so that it works behind any', () => {
    const resolved = Object.entries(packages).filter(([, entry]) => entry.resolved !== undefined);
    assert.deepEqual(resolved, []);
  });
});
