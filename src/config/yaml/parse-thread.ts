/** Entry of the thread that reads a configuration file of many keys; see `parse-in-thread.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError, type ConfigProblem } from '../config-error.ts';
import { type ParseOptions, parseConfig } from '../load.ts';
import type { GatewayConfig, KeyConfig } from '../schema.ts';

export interface ParseRequest extends ParseOptions {
  text: string;
}

/** What it answers: the problems, or a part of the configuration and, after each message to it, the next. */
export type ParsedPart =
  | { problems: readonly ConfigProblem[] }
  | { rest: Omit<GatewayConfig, 'keys'> | undefined; keys: KeyConfig[]; last: boolean };

/** Keys in one message: what one costs to take over is about a millisecond. */
const KEYS_AT_ONCE = 200;

const request: ParseRequest = workerData;
const parts = partsOf(request);
const say = () => {
  const { value, done } = parts.next();
  if (!done) parentPort?.postMessage(value);
};
parentPort?.on('message', say);
say();

function* partsOf({ text, ...options }: ParseRequest): Generator<ParsedPart, undefined> {
  try {
    const { keys, ...rest } = parseConfig(text, options);
    for (let at = 0; at === 0 || at < keys.length; at += KEYS_AT_ONCE) {
      const last = at + KEYS_AT_ONCE >= keys.length;
      yield { rest: at === 0 ? rest : undefined, keys: keys.slice(at, at + KEYS_AT_ONCE), last };
    }
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    yield { problems: thrown.problems };
  }
}
