import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const names = z.record(z.string(), z.string()).default({});
const lockfile = z.object({
  packages: z.record(z.string(), z.looseObject({ optionalDependencies: names, resolved: z.string().optional() })),
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

  it('names no registry, so that it works behind any', () => {
    const resolved = Object.entries(packages).filter(([, entry]) => entry.resolved !== undefined);
    assert.deepEqual(resolved, []);
  });
});
