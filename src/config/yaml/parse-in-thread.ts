import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { workerThreadEnv } from '../../base/compile-cache.ts';
import { inSlices } from '../../base/load/event-loop.ts';
import { ConfigError } from '../config-error.ts';
import { deepFreeze, type ParseOptions, parseConfig } from '../load.ts';
import type { GatewayConfig, KeyConfig } from '../schema.ts';
import type { ParsedPart, ParseRequest } from './parse-thread.ts';

/** How long parsing a file may take, in milliseconds: 100 000 keys take 10 seconds of CPU time. */
const TIMEOUT_MS = 600_000;

/** Smaller files are parsed faster than a thread starts; in characters. */
const MIN_LENGTH = 64 * 1024;

/**
 * Does the same as `parseConfig`, but parses a large file in a thread of its own, because many keys take seconds. The
 * result arrives in parts, each too small to stall the event loop.
 * @throws ConfigError with all problems at once.
 */
export async function parseInThread(text: string, options: ParseOptions): Promise<GatewayConfig> {
  if (text.length < MIN_LENGTH) return parseConfig(text, options);
  const thread = new Worker(new URL('./parse-thread.ts', import.meta.url), {
    workerData: requestOf(text, options),
    env: workerThreadEnv(),
  });
  // The thread must not keep the process alive.
  thread.unref();
  const ended = new AbortController();
  const onEnd = () => ended.abort(new Error('the thread that reads the configuration has ended'));
  const timer = setTimeout(onEnd, TIMEOUT_MS);
  thread.once('exit', onEnd);
  const keys: KeyConfig[] = [];
  let rest: Omit<GatewayConfig, 'keys'> | undefined;
  try {
    for (let isLast = false; !isLast; ) {
      const part = await nextPart(thread, ended.signal);
      if ('problems' in part) throw new ConfigError(options.file, part.problems);
      rest ??= deepFreeze(part.rest);
      await inSlices(part.keys, (key) => void keys.push(deepFreeze(key)));
      isLast = part.last;
      thread.postMessage('more');
    }
  } finally {
    clearTimeout(timer);
    await thread.terminate();
  }
  if (!rest) throw new Error('the thread that reads the configuration sent no sections');
  return deepFreeze({ ...rest, keys });
}

/** Copies the environment variables, because `process.env` cannot be sent to a thread. */
function requestOf(text: string, { environment, ...options }: ParseOptions): ParseRequest {
  return { text, ...options, environment: { ...environment, variables: { ...environment.variables } } };
}

async function nextPart(thread: Worker, signal: AbortSignal): Promise<ParsedPart> {
  const [part]: ParsedPart[] = await once(thread, 'message', { signal });
  if (!part) throw new Error('the thread that reads the configuration sent an empty message');
  return part;
}
