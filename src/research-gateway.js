#!/usr/bin/env node
// Plain JavaScript, because older versions of Node cannot even read the TypeScript that would tell them so.
const MINIMUM = 26;

if (Number.parseInt(process.versions.node, 10) < MINIMUM) {
  process.stderr.write(
    `research-gateway needs Node ${MINIMUM} or newer, this is ${process.version}.\n` +
      'In its folder, npm brings the right one along:  npm ci, then npm start, npm run demo, npm run ask -- "question"\n' +
      `Or install Node ${MINIMUM} from https://nodejs.org and start this again.\n`,
  );
  process.exitCode = 2;
} else {
  await import('./main.ts');
}
