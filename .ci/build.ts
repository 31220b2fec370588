import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Builds what npm publishes: node .ci/build.ts. Node runs no TypeScript below `node_modules`, so `dist/` holds `src/` as
 * JavaScript and declarations, file for file, with prompts, pages and programs of other languages beside them.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SRC = join(ROOT, 'src');
const DIST = join(ROOT, 'dist');
/** What users import; of the other files the package needs no declarations. */
const ENTRIES = ['index.d.ts', 'client/follow.d.ts'];

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

rmSync(DIST, { recursive: true, force: true });
compile();
for (const file of filesIn(SRC).filter((path) => !path.endsWith('.ts'))) copyAsset(file);
for (const file of filesIn(DIST).filter((path) => path.endsWith('.js'))) nameBuiltFiles(file);
dropUnreached();

/**
 * tsc keeps the way from the root to each file, because `src/` imports package.json. `npm run check` looks at the types.
 * Several threads would each infer the types of declarations, for twice the CPU time.
 */
function compile(): void {
  const staged = join(DIST, 'staged');
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [
    '--project',
    join(ROOT, '.ci/tsconfig.build.json'),
    '--outDir',
    staged,
    '--noCheck',
    '--singleThreaded',
  ];
  execFileSync(process.execPath, [tsc, ...args], { stdio: 'inherit' });
  for (const name of readdirSync(join(staged, 'src'))) renameSync(join(staged, 'src', name), join(DIST, name));
  rmSync(staged, { recursive: true });
}

function copyAsset(file: string): void {
  // The start script stands in the package as it is.
  if (dirname(file) === SRC) return;
  const target = join(DIST, file.slice(SRC.length));
  mkdirSync(dirname(target), { recursive: true });
  cpSync(file, target);
}

/** Threads and child processes are named by the address of their file, which tsc leaves as it is. */
function nameBuiltFiles(file: string): void {
  const text = readFileSync(file, 'utf8');
  const named = text.replace(/(new URL\('\.{1,2}\/[^']+)\.ts(', import\.meta\.url\))/g, '$1.js$2');
  const left = /['"]\.{1,2}\/[^'"\n]+\.ts['"]/.exec(named);
  if (left) throw new Error(`${file} names ${left[0]}, which the package does not hold`);
  if (named !== text) writeFileSync(file, named);
}

/** Removes declarations that no entry leads to. */
function dropUnreached(): void {
  const reached = new Set<string>();
  const reach = (file: string) => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/['"](\.{1,2}\/[^'"\n]+)\.ts['"]/g)) {
      reach(join(dirname(file), `${path}.d.ts`));
    }
  };
  for (const entry of ENTRIES) reach(join(DIST, entry));
  for (const file of filesIn(DIST)) if (file.endsWith('.d.ts') && !reached.has(file)) rmSync(file);
}
