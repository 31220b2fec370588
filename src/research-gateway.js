#!/usr/bin/env node
// Plain JavaScript, because older versions of Node cannot even read the TypeScript that would tell them so.
import { fileURLToPath } from 'node:url';

const MINIMUM = 26;

if (Number.parseInt(process.versions.node, 10) < MINIMUM) {
  process.stderr.write(
    `research-gateway needs Node ${MINIMUM} or newer, this is ${process.version}.\n` +
      'In its folder, npm brings the right one along:  npm ci, then npm start, npm run demo, npm run ask -- "question"\n' +
      `Or install Node ${MINIMUM} from https://nodejs.org and start this again.\n`,
  );
  process.exitCode = 2;
} else {
  const { enableCompileCache, flushCompileCache } = await import('node:module');
  // Halves the CPU of a start. Beside what was installed, not in a shared folder for temporary files, where another
  // user could plant code; where it cannot be written (a read-only image) the runtime does without.
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)));
  // A process that is killed writes nothing at its end.
  setTimeout(flushCompileCache, 5000).unref();
  await import('./main.ts');
}
