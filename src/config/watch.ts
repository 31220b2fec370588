import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { inSlices } from '../base/load/event-loop.ts';
import { ConfigError } from './config-error.ts';
import { type LoadedConfig, type LoadOptions, loadConfig } from './load.ts';
import { type GatewayConfig, type KeyConfig, NAME_IN_FILE } from './schema.ts';
import { parseInThread } from './yaml/parse-in-thread.ts';

/** Editors write a file in several steps; what they leave behind is read once they are done. In milliseconds. */
const SETTLE_MS = 150;
/** Where something else in the folder is written all the time, it is read all the same after so long. In milliseconds. */
const LONGEST_SETTLE_MS = 1000;

/** Sections that are read at the start only. */
const FIXED_SECTIONS = ['server', 'store', 'runs', 'files', 'logging', 'telemetry'] as const;
const LIVE_SECTIONS = ['providers', 'models', 'tools', 'passthrough', 'webhooks', 'mcp', 'teams'] as const;

/** Changed keys that are told one by one. */
const MOST_TOLD = 100;

/** What became of a reload. */
export type ReloadOutcome =
  /** `changed` is in force now; `needsRestart` changed in the file but keeps its old values. Paths, both. */
  | { result: 'reloaded'; config: GatewayConfig; changed: string[]; needsRestart: string[] }
  /** The file is invalid; the old configuration stays in force. */
  | { result: 'invalid'; error: ConfigError }
  | { result: 'unchanged' };

export interface WatchOptions {
  /** What was loaded at the start, and how. */
  loaded: LoadedConfig;
  load: LoadOptions;
  /** Called for every reload; if nothing changed, only where SIGHUP asked for it. */
  onOutcome(outcome: ReloadOutcome): void;
}

/** Watches the configuration file until disposed. */
export interface ConfigWatcher extends Disposable {
  /** Reads the file now. */
  reload(): Promise<ReloadOutcome>;
}

/**
 * Reloads the configuration when its file changes or the process gets SIGHUP. An invalid file is refused and the
 * old configuration stays (docs/configuration.md).
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
    // A missing file is an editor between two steps: the next event brings the new one.
    if (text !== undefined && text !== lastText) await enqueue();
  };

  // The folder is watched, not the file: editors and Kubernetes replace files, and a watch follows the old one.
  let firstEventAt: number | undefined;
  const watcher = watchFolder(dirname(path), () => {
    firstEventAt ??= performance.now();
    clearTimeout(settle);
    const wait = Math.max(0, Math.min(SETTLE_MS, firstEventAt + LONGEST_SETTLE_MS - performance.now()));
    settle = setTimeout(() => {
      firstEventAt = undefined;
      reloadIfTextChanged().catch(() => {});
    }, wait);
  });
  const onHangup = () => {
    const tell = (outcome: ReloadOutcome) => outcome.result === 'unchanged' && onOutcome(outcome);
    enqueue().then(tell, () => {});
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

/** Undefined where the system has no watch left to give: SIGHUP still reloads. */
function watchFolder(folder: string, onEvent: () => void): FSWatcher | undefined {
  try {
    return watch(folder, { persistent: false }, onEvent).on('error', () => {});
  } catch {
    return undefined;
  }
}

async function reload(current: GatewayConfig, load: LoadOptions): Promise<ReloadOutcome> {
  try {
    const { config: fresh } = await loadConfig({ ...load, parse: parseInThread });
    const needsRestart = FIXED_SECTIONS.flatMap((section) => differences(section, current[section], fresh[section]));
    const { server, store, runs, files, logging, telemetry } = current;
    const config = Object.freeze({ ...fresh, server, store, runs, files, logging, telemetry });
    const changed = LIVE_SECTIONS.flatMap((section) => differences(section, current[section], fresh[section]));
    changed.push(...(await changedKeys(current.keys, fresh.keys)));
    if (needsRestart.length === 0 && changed.length === 0) return { result: 'unchanged' };
    return { result: 'reloaded', config, changed, needsRestart };
  } catch (error) {
    if (error instanceof ConfigError) return { result: 'invalid', error };
    throw error;
  }
}

/** The keys that are not what they were, each by its place, the first of them. */
async function changedKeys(before: readonly KeyConfig[], after: readonly KeyConfig[]): Promise<string[]> {
  const changed: string[] = [];
  let more = 0;
  await inSlices(before.length > after.length ? before : after, (_, place) => {
    if (isDeepStrictEqual(before[place], after[place])) return;
    if (changed.length < MOST_TOLD) changed.push(`keys.${place}`);
    else more++;
  });
  return more === 0 ? changed : [...changed, `keys (${more} more)`];
}

function differences(section: string, before: object, after: object): string[] {
  const old = new Map(Object.entries(before));
  const fresh = new Map(Object.entries(after));
  const keys = new Set([...old.keys(), ...fresh.keys()]);
  return [...keys]
    .filter((key) => !isDeepStrictEqual(old.get(key), fresh.get(key)))
    .map((key) => `${section}.${NAME_IN_FILE[key] ?? key}`);
}
