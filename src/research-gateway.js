#!/usr/bin/env node
// Plain JavaScript that old versions of Node can read: finds a Node that runs the rest.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

/** The Node that the gateway is made for. It runs the sources too. */
const BEST = 26;
const SOURCES = new URL('./main.ts', import.meta.url);
/** What the npm package holds in place of the sources. */
const BUILT = new URL('../dist/main.js', import.meta.url);

const inSources = existsSync(SOURCES);
const OWN = new URL('.', inSources ? SOURCES : BUILT).href;
const [major, minor] = process.versions.node.split('.').map(Number);
const bundled = major < BEST ? bundledNode() : undefined;

if (!inSources && !existsSync(BUILT)) {
  refuse('This package was packed without what it is built from; pack it with: npm run pack\n');
} else if (bundled !== undefined) {
  runOn(bundled);
} else if (major >= BEST || (!inSources && runsBuilt())) {
  // Before the first TypeScript: what strips its types is large, and not loaded for what is kept (base/compile-cache.ts).
  nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)));
  nodeModule.registerHooks({ resolve: resolveOwn });
  await import((inSources ? SOURCES : BUILT).href);
} else {
  refuse(
    `research-gateway needs Node ${BEST} or newer, this is ${process.version}: install again with optional dependencies ` +
      `(in a clone: npm ci), which bring it for most platforms, or install Node ${BEST} from https://nodejs.org.\n`,
  );
}

/** Our modules name each other's files, so nothing need be looked for: Node's search takes a tenth of the start. */
function resolveOwn(specifier, context, resolve) {
  const isOwn = /^\.\.?\/.*\.[jt]s$/.test(specifier) && context.parentURL?.startsWith(OWN);
  if (!isOwn) return resolve(specifier, context);
  const format = specifier.endsWith('.ts') ? 'module-typescript' : 'module';
  return { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true };
}

/** Older versions lack `shouldUpgradeCallback`, without which clients that offer HTTP/2 would be refused. */
function runsBuilt() {
  return (major === 22 && minor >= 21) || (major === 24 && minor >= 9) || major > 24;
}

/** The Node that npm installed beside this, an optional dependency; undefined where there is none that runs here. */
function bundledNode() {
  const { resolve } = nodeModule.createRequire(import.meta.url);
  const platform = `${process.platform}-${process.arch}`;
  for (const name of [`node-${platform}`, `node-bin-${platform}`]) {
    try {
      const node = resolve(`${name}/bin/node`);
      if (Number.parseInt(execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }), 10) >= BEST)
        return node;
    } catch {
      // Not installed, or made for another system.
    }
  }
  return undefined;
}

/** Starts this once more on another Node, in place of this process or, before Node 22.15, as a child of it. */
function runOn(node) {
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  if (process.execve) process.execve(node, [node, ...args]);
  const child = spawn(node, args, { stdio: 'inherit' });
  // A terminal sends its signals to both; a second one would end what the first one stops in order.
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {});
  process.on('SIGTERM', () => child.kill());
  child.on('error', (error) => refuse(`${node} cannot be started: ${error.message}\n`));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function refuse(why) {
  process.stderr.write(why);
  process.exitCode = 2;
}
