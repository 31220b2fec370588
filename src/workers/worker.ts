import '../base/node/polyfills.ts';
import { fileURLToPath } from 'node:url';
import { AggregatorRegistry, Registry } from 'prom-client';
import project from '../../package.json' with { type: 'json' };
import { messageOf } from '../base/errors.ts';
import { runCommandLine } from '../cli/command-line.ts';
import type { StartGateway } from '../cli/running-gateway.ts';
import { processTerminal, type Terminal } from '../cli/terminal.ts';
import { readEnvironment } from '../config/environment.ts';
import { startGateway } from '../server.ts';
import { connectStorage } from '../store/open.ts';
import { type FromWorker, isToWorker, type ToWorker } from './worker-messages.ts';

/**
 * One of the processes behind the port of a gateway (`workers.ts`): an ordinary gateway that the first process starts and
 * stops. It lives as long as the first one, and ignores signals, which a terminal sends to all processes.
 */
const start = Promise.withResolvers<Extract<ToWorker, { tell: 'start' }>>();
const stop = Promise.withResolvers<void>();
const metricsRequests = new Map<number, (text: string | undefined) => void>();
let lastMetricsCall = 0;

process.on('message', (message: unknown) => {
  if (!isToWorker(message)) return;
  if (message.tell === 'start') start.resolve(message);
  else if (message.tell === 'stop') stop.resolve();
  else {
    metricsRequests.get(message.call)?.(message.text);
    metricsRequests.delete(message.call);
  }
});
process.on('disconnect', () => stop.resolve());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

/** What the command line printed about problems. */
const errors: string[] = [];
let started = false;
const registry = new Registry();
AggregatorRegistry.setRegistries(registry);
// Answers the first process when it asks all workers for their metrics.
new AggregatorRegistry();

const { file, socket, port } = await start.promise;
const processEnvironment = readEnvironment();
const environment = port === undefined ? processEnvironment : { ...processEnvironment, port };
process.exitCode = await runCommandLine(['serve', '--config', file, '--workers', '1'], {
  environment,
  terminal: workerTerminal(),
  startGateway: startAsWorker,
  projectRoot: fileURLToPath(new URL('../..', import.meta.url)),
  version: project.version,
});
if (process.exitCode !== 0 && !started) send({ say: 'failed', reason: errors.join('\n').trim(), code: undefined });
if (process.connected) process.disconnect?.();

/** Starts the gateway over the store that the first process holds, or over its own connection to Redis. */
async function startAsWorker(options: Parameters<StartGateway>[0]): ReturnType<StartGateway> {
  started = true;
  try {
    const gateway = await startGateway({
      ...options,
      ...(socket === undefined ? {} : { openStorage: () => connectStorage(socket, options) }),
      registry,
      showMetrics: metricsOfAll,
    });
    send({ say: 'listening', url: gateway.url });
    return gateway;
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
    send({ say: 'failed', reason: messageOf(thrown), code });
    throw thrown;
  }
}

/** The metrics of all workers together, or of this one if not all answer in time. */
async function metricsOfAll(): Promise<string> {
  const call = ++lastMetricsCall;
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  metricsRequests.set(call, resolve);
  send({ say: 'metrics', call });
  return (await promise) ?? (await registry.metrics());
}

function send(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}

/** A terminal that collects errors of the start, which the first process reports, and prints only the log. */
function workerTerminal(): Terminal {
  const terminal = processTerminal({ plain: environment.plain });
  return {
    ...terminal,
    err: (text) => void errors.push(text),
    log: terminal.err,
    onSignal(_signals, listener) {
      let listening = true;
      void stop.promise.then(() => listening && listener());
      return {
        [Symbol.dispose]() {
          listening = false;
        },
      };
    },
  };
}
