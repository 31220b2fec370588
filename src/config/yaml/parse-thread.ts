/** Entry of the thread that parses a large configuration file; see `parse-in-thread.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError, type ConfigProblem } from '../config-error.ts';
import { type ParseOptions, parseConfig } from '../load.ts';
import type { GatewayConfig, KeyConfig } from '../schema.ts';

export interface ParseRequest extends ParseOptions {
  text: string;
}

/** What the thread sends: the problems, or a part of the configuration and, after each message to it, the next part. */
export type ParsedPart =
  | { problems: readonly ConfigProblem[] }
  | { rest: Omit<GatewayConfig, 'keys'> | undefined; keys: KeyConfig[]; last: boolean };

/** Keys per message, so that receiving one takes about a millisecond. */
const KEYS_PER_PART = 200;

const request: ParseRequest = workerData;
const parts = partsOf(request);
const sendNext = () => {
  const { value, done } = parts.next();
  if (!done) parentPort?.postMessage(value);
};
parentPort?.on('message', sendNext);
sendNext();

function* partsOf({ text, ...options }: ParseRequest): Generator<ParsedPart, undefined> {
  try {
    const { keys, ...rest } = parseConfig(text, options);
    for (let at = 0; at === 0 || at < keys.length; at += KEYS_PER_PART) {
      const last = at + KEYS_PER_PART >= keys.length;
      yield { rest: at === 0 ? rest : undefined, keys: keys.slice(at, at + KEYS_PER_PART), last };
    }
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    yield { problems: thrown.problems };
  }
}
