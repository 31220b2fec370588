#!/usr/bin/env node
// Plain JavaScript, because older versions of Node cannot even read the TypeScript that would tell them so.
import * as nodeModule from 'node:module';
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
  // Before the first TypeScript: what strips its types is large, and not loaded for what is kept (compile-cache.ts).
  nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)));
  await import('./main.ts');
}
