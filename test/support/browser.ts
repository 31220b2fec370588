import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { installPackage } from './debian-package.ts';

/** The first one has no windows and needs half the CPU time of the others. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
] as const;
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * A headless Chromium: the one in PATH, else Debian's from apt-get.
 * @throws Error that says how to get one if there is none.
 */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = findChromium() ?? installChromium();
  return await chromium.launch({ executablePath, headless: true, args: FLAGS });
}

let shared: Promise<Browser> | undefined;

/**
 * The browser that all tests of this process share, because starting one takes a second. Pages are isolated in contexts
 * of their own. The browser ends with the process.
 */
export function sharedBrowser(): Promise<Browser> {
  shared ??= launchBrowser();
  return shared;
}

function findChromium(): string | undefined {
  for (const name of NAMES) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not this one.
      }
    }
  }
  return undefined;
}

function installChromium(): string {
  // Not every system has the first one.
  const reasons = [NAMES[0], NAMES[1]].map((name) => (findChromium() ? undefined : installPackage(name)));
  const found = findChromium();
  const reason = reasons.filter(Boolean).join('; ');
  assert.ok(found, `the tests of the console need a Chromium in PATH: install the package ${NAMES[1]} (${reason})`);
  return found;
}
