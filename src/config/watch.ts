import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../base/errors.ts';
import { inSlices } from '../base/load/event-loop.ts';
import { ConfigError } from './config-error.ts';
import { wellKnownKeyProblem } from './cross-checks.ts';
import { acceptedDefaultKey } from './keyring.ts';
import { type LoadedConfig, type LoadOptions, loadConfig } from './load.ts';
import { type GatewayConfig, type KeyConfig, NAME_IN_FILE } from './schema.ts';
import { parseInThread } from './yaml/parse-in-thread.ts';

/** How long to wait after a change, because editors write a file in several steps; in milliseconds. */
const SETTLE_MS = 150;
/** The longest wait, even if something else in the folder keeps changing; in milliseconds. */
const MAX_SETTLE_MS = 1000;

/** Sections that take effect at the start only. */
const FIXED_SECTIONS = ['server', 'store', 'runs', 'files', 'logging', 'telemetry'] as const;
const LIVE_SECTIONS = ['providers', 'models', 'tools', 'passthrough', 'webhooks', 'mcp', 'teams'] as const;

/** How many changed keys are listed one by one. */
const MAX_LISTED_KEYS = 100;

export type ReloadOutcome =
  /** `changed` lists paths whose new values are in force; `needsRestart` those that changed but keep their old values. */
  | { result: 'reloaded'; config: GatewayConfig; changed: string[]; needsRestart: string[] }
  /** The file is invalid, or could not be loaded for another reason; the old configuration stays in force. */
  | { result: 'invalid'; error: ConfigError }
  | { result: 'unchanged' };

export interface WatchOptions {
  /** The configuration that was loaded at the start. */
  loaded: LoadedConfig;
  load: LoadOptions;
  /** Called for every reload; if nothing changed, only for a SIGHUP. */
  onOutcome(outcome: ReloadOutcome): void;
}

/** Watches the configuration file until disposed. */
export interface ConfigWatcher extends Disposable {
  /** Reloads the file now. */
  reload(): Promise<ReloadOutcome>;
}

/**
 * Reloads the configuration when its file changes or the process gets SIGHUP. If the new file is invalid, the old
 * configuration stays in force (docs/configuration.md).
 */
export function watchConfig({ loaded, load, onOutcome }: WatchOptions): ConfigWatcher {
  const path = resolve(load.root ?? process.cwd(), loaded.file);
  let current = loaded.config;
  let lastText: string | undefined;
  let settle: NodeJS.Timeout | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  const reloadNow = async (): Promise<ReloadOutcome> => {
    lastText = await readFile(path, 'utf8').catch(() => undefined);
    const outcome = await reload(current, { ...load, file: loaded.file });
    if (outcome.result === 'reloaded') current = outcome.config;
    if (outcome.result !== 'unchanged') onOutcome(outcome);
    return outcome;
  };
  const enqueue = (): Promise<ReloadOutcome> => {
    const next = queue.then(reloadNow);
    queue = next.catch(() => {});
    return next;
  };
  const reloadIfTextChanged = async () => {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    // The file is missing while an editor replaces it: the next event brings the new one.
    if (text !== undefined && text !== lastText) await enqueue();
  };

  // Watches the folder and not the file: editors and Kubernetes replace the file, and a watch would follow the old one.
  let firstEventAt: number | undefined;
  const watcher = watchFolder(dirname(path), () => {
    firstEventAt ??= performance.now();
    clearTimeout(settle);
    const waitMs = Math.max(0, Math.min(SETTLE_MS, firstEventAt + MAX_SETTLE_MS - performance.now()));
    settle = setTimeout(() => {
      firstEventAt = undefined;
      reloadIfTextChanged().catch(() => {});
    }, waitMs);
  });
  const onHangup = () => {
    const reportUnchanged = (outcome: ReloadOutcome) => outcome.result === 'unchanged' && onOutcome(outcome);
    enqueue().then(reportUnchanged, () => {});
  };
  process.on('SIGHUP', onHangup);

  return {
    reload: enqueue,
    [Symbol.dispose]() {
      process.off('SIGHUP', onHangup);
      clearTimeout(settle);
      watcher?.close();
    },
  };
}

/** Watches a folder; undefined if the system has no watches left. SIGHUP still reloads then. */
function watchFolder(folder: string, onEvent: () => void): FSWatcher | undefined {
  try {
    return watch(folder, { persistent: false }, onEvent).on('error', () => {});
  } catch {
    return undefined;
  }
}

async function reload(current: GatewayConfig, load: LoadOptions & { file: string }): Promise<ReloadOutcome> {
  try {
    const { config: fresh } = await loadConfig({ ...load, parse: parseInThread });
    const needsRestart = FIXED_SECTIONS.flatMap((section) => differences(section, current[section], fresh[section]));
    const { server, store, runs, files, logging, telemetry } = current;
    const config = Object.freeze({ ...fresh, server, store, runs, files, logging, telemetry });
    // The new address, by which the file was judged, is not yet in force.
    const problem = acceptedDefaultKey(config) && wellKnownKeyProblem(server);
    if (problem !== undefined) throw new ConfigError(load.file, [{ path: 'keys', message: `hold ${problem}` }]);
    const changed = LIVE_SECTIONS.flatMap((section) => differences(section, current[section], fresh[section]));
    changed.push(...(await changedKeys(current.keys, fresh.keys)));
    if (needsRestart.length === 0 && changed.length === 0) return { result: 'unchanged' };
    return { result: 'reloaded', config, changed, needsRestart };
  } catch (error) {
    if (error instanceof ConfigError) return { result: 'invalid', error };
    const problem = { path: '', message: `cannot be loaded: ${messageOf(error)}` };
    return { result: 'invalid', error: new ConfigError(load.file, [problem], { cause: error }) };
  }
}

/** The paths of changed keys: the first ones by index, and the number of the others. */
async function changedKeys(before: readonly KeyConfig[], after: readonly KeyConfig[]): Promise<string[]> {
  const changed: string[] = [];
  let unlisted = 0;
  await inSlices(before.length > after.length ? before : after, (_, index) => {
    if (isDeepStrictEqual(before[index], after[index])) return;
    if (changed.length < MAX_LISTED_KEYS) changed.push(`keys.${index}`);
    else unlisted++;
  });
  return unlisted === 0 ? changed : [...changed, `keys (${unlisted} more)`];
}

function differences(section: string, before: object, after: object): string[] {
  const old = new Map(Object.entries(before));
  const fresh = new Map(Object.entries(after));
  const keys = new Set([...old.keys(), ...fresh.keys()]);
  return [...keys]
    .filter((key) => !isDeepStrictEqual(old.get(key), fresh.get(key)))
    .map((key) => `${section}.${NAME_IN_FILE[key] ?? key}`);
}
