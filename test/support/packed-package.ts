import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

const packed = z.tuple([z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) })]);
const lockfile = z.object({ packages: z.record(z.string(), z.object({ dev: z.boolean().default(false) })) });

/** The package as npm packs it, installed in a folder of its own. */
export interface PackedPackage extends Disposable {
  /** The folder of a program that depends on it. */
  folder: string;
  /** What the tarball holds, as paths in it. */
  files: string[];
  /** Folders of what is installed with it, all versions. */
  dependencies: string[];
}

/**
 * Builds, packs and unpacks the package. Nothing is downloaded: only its dependencies, and Node's types for TypeScript
 * programs, are linked to those that the project has installed.
 */
export async function installPacked(): Promise<PackedPackage> {
  const folder = mkdtempSync(join(tmpdir(), 'packed-'));
  const args = ['pack', '--ignore-scripts=false', '--json', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: ROOT });
  const [{ filename, files }] = packed.parse(JSON.parse(stdout));
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  await run('tar', ['-xzf', join(folder, filename), '-C', modules]);
  renameSync(join(modules, 'package'), join(modules, 'research-gateway'));
  symlinkSync('../research-gateway/src/research-gateway.js', join(modules, '.bin/research-gateway'));
  const dependencies = installedWithIt();
  linkInstalled(folder, [...dependencies, 'node_modules/@types/node', 'node_modules/undici-types']);
  return {
    folder,
    files: files.map(({ path }) => path),
    dependencies: dependencies.map((place) => join(ROOT, place)),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

/** Links packages that the project has installed, including nested ones. */
export function linkInstalled(folder: string, places: readonly string[]): void {
  for (const place of places.filter((place) => place.lastIndexOf('node_modules/') === 0)) {
    mkdirSync(dirname(join(folder, place)), { recursive: true });
    symlinkSync(join(ROOT, place), join(folder, place));
  }
}

/** Paths such as `node_modules/zod`, without optional dependencies of other platforms. */
export function installedWithIt(): string[] {
  const { packages } = lockfile.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));
  return Object.entries(packages)
    .filter(([place, { dev }]) => place !== '' && !dev && existsSync(join(ROOT, place)))
    .map(([place]) => place);
}
