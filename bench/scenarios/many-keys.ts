import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuMicros, quantile } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { type GatewayTarget, startGateway, startScript, type Target } from '../support/processes.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';
import { startTimedClient } from '../support/timed-client.ts';
import { load, proxyConfig } from './pass-through.ts';

/** A gateway of many API keys beside one of ten: what a request costs, the start, and what a reload is noticed of. */

const KEYS = Number(process.env.KEYS ?? 100_000);
const KEYS_AT_START = 10_000;
const FEW = 10;
const SHAPE = { what: '32 connections', stream: false, connections: 32, total: 10_000 };
const HEALTH_EVERY_MS = 5;
/** Longest wait for a reload, in milliseconds. */
const RELOAD_MS = 300_000;
const CHANGED = 'sk-bench-changed';

export async function manyKeys({ rounds }: BenchOptions): Promise<Row[]> {
  await using provider = await startScript('targets/raw-provider.ts', ['1']);
  await using few = await startGateway(configOf(provider, FEW));
  await using many = await startGateway(configOf(provider, KEYS));
  const measured = (target: Target) => ({ run: () => load({ target, headers: {} }, SHAPE) });
  const results = await interleaved(
    [
      { name: 'few', ...measured(few) },
      { name: 'many', ...measured(many) },
    ],
    rounds,
  );
  const [ours = [], beside = []] = [results.get('many'), results.get('few')];
  const peer = (of: 'rate' | 'cpu') => ({ name: `${FEW} keys`, rounds: beside.map((round) => round[of]) });
  const what = `pass-through with ${KEYS} keys`;
  return [
    { what, unit: 'requests/s', ours: ours.map(({ rate }) => rate), peer: peer('rate'), goal: { atLeast: 0.9 } },
    { what, unit: 'CPU us/request', ours: ours.map(({ cpu }) => cpu), peer: peer('cpu'), goal: { atMost: 1.1 } },
    ...(await reload(many)),
    await start(provider, rounds),
  ];
}

function configOf(provider: Target, count: number): object {
  const others = Array.from({ length: count - 1 }, (_, n) => ({ id: `key-${n}`, secret: `sk-bench-key-${n}` }));
  const { keys, ...rest } = proxyConfig(provider);
  return { ...rest, keys: [...keys, ...others] };
}

async function reload(gateway: GatewayTarget): Promise<Row[]> {
  await using client = await startTimedClient();
  const text = await readFile(gateway.file, 'utf8');
  const health = client.watch({ url: `${gateway.url}/healthz`, headers: {} }, { everyMs: HEALTH_EVERY_MS });
  await writeFile(gateway.file, text.replace(/sk-bench-key-0$/m, CHANGED));
  const limit = performance.now() + RELOAD_MS;
  while (!(await isKnown(gateway))) {
    if (performance.now() > limit) throw new Error('the reload does not come to an end');
    await delay(100);
  }
  const times = await health.stop();
  const what = `/healthz in a reload of ${KEYS} keys`;
  return [
    { what, unit: 'ms median', ours: [quantile(times, 0.5)], goal: { atMost: 10 } },
    { what, unit: 'ms p99', ours: [quantile(times, 0.99)], goal: { atMost: 50 } },
  ];
}

async function isKnown({ url }: Target): Promise<boolean> {
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${CHANGED}` } });
  await response.body?.cancel();
  return response.status === 200;
}

async function start(provider: Target, rounds: number): Promise<Row> {
  const seconds = async (count: number) => {
    await using gateway = await startGateway(configOf(provider, count));
    return cpuMicros(gateway.pid) / 1e6;
  };
  const results = await interleaved(
    [
      { name: 'few', run: () => seconds(FEW) },
      { name: 'many', run: () => seconds(KEYS_AT_START) },
    ],
    rounds,
  );
  return {
    what: `start with ${KEYS_AT_START} keys, CPU until it listens (${FEW} keys: ${quantile(results.get('few') ?? [], 0.5).toFixed(2)} s)`,
    unit: 's',
    ours: results.get('many') ?? [],
    goal: { atMost: 1 },
  };
}
