import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { threadVariables } from '../../base/compile-cache.ts';
import { inSlices } from '../../base/load/event-loop.ts';
import { ConfigError } from '../config-error.ts';
import { deepFreeze, type ParseOptions, parseConfig } from '../load.ts';
import type { GatewayConfig, KeyConfig } from '../schema.ts';
import type { ParsedPart, ParseRequest } from './parse-thread.ts';

/** How long reading a file may take, in milliseconds: one of 100 000 keys takes 10 seconds of a processor. */
const LIMIT_MS = 600_000;

/** A smaller file takes a few milliseconds, less than the start of a thread; in characters. */
const ASIDE_FROM = 64 * 1024;

/**
 * Does what `parseConfig` does, a large file in a thread of its own: one of many keys takes seconds. The result comes in
 * parts, each small enough that the event loop does not notice it.
 * @throws ConfigError with all problems at once.
 */
export async function parseInThread(text: string, options: ParseOptions): Promise<GatewayConfig> {
  if (text.length < ASIDE_FROM) return parseConfig(text, options);
  const thread = new Worker(new URL('./parse-thread.ts', import.meta.url), {
    workerData: requestOf(text, options),
    env: threadVariables(),
  });
  // It keeps no process from ending.
  thread.unref();
  const gone = new AbortController();
  const end = () => gone.abort(new Error('the thread that reads the configuration has ended'));
  const limit = setTimeout(end, LIMIT_MS);
  thread.once('exit', end);
  const keys: KeyConfig[] = [];
  let rest: Omit<GatewayConfig, 'keys'> | undefined;
  try {
    for (let isLast = false; !isLast; ) {
      const part = await nextPart(thread, gone.signal);
      if ('problems' in part) throw new ConfigError(options.file, part.problems);
      rest ??= deepFreeze(part.rest);
      await inSlices(part.keys, (key) => void keys.push(deepFreeze(key)));
      isLast = part.last;
      thread.postMessage('more');
    }
  } finally {
    clearTimeout(limit);
    await thread.terminate();
  }
  if (!rest) throw new Error('the configuration came without its beginning');
  return deepFreeze({ ...rest, keys });
}

/** The variables of the process are an object that cannot be sent. */
function requestOf(text: string, { environment, ...options }: ParseOptions): ParseRequest {
  return { text, ...options, environment: { ...environment, variables: { ...environment.variables } } };
}

async function nextPart(thread: Worker, signal: AbortSignal): Promise<ParsedPart> {
  const [part]: ParsedPart[] = await once(thread, 'message', { signal });
  if (!part) throw new Error('the thread that reads the configuration said nothing');
  return part;
}
