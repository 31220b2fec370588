import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { liveLoad } from '../support/live-load.ts';
import { cpuMicros, rssMb } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { KEY, researchConfig, startGateway, startScript } from '../support/processes.ts';
import { rawLoad } from '../support/raw-load.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';
import { proxyConfig } from './pass-through.ts';

/** Two processes beside one, a start, and what rests in memory. */

/** Requests of a round. */
const PASSED = 10_000;

/** Deltas and requests a second of two workers beside one process. */
export async function workers({ rounds }: BenchOptions): Promise<Row[]> {
  await using ticking = await startScript('targets/ticking-provider.ts', ['20', '100']);
  await using raw = await startScript('targets/raw-provider.ts', ['200']);
  const research = async (workers: number) => {
    await using gateway = await startGateway({ ...researchConfig(ticking), server: { workers } });
    const { delays, seconds } = await liveLoad(gateway, {
      path: '/v1/responses',
      streams: 2000,
      deltas: 100,
      mayRefuse: true,
    });
    return delays.length / seconds;
  };
  const pass = async (workers: number) => {
    await using gateway = await startGateway({ ...proxyConfig(raw), server: { workers } });
    const load = () =>
      rawLoad({
        url: gateway.url,
        path: '/v1/chat/completions',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'bench', messages: [{ role: 'user', content: 'Go.' }] }),
        connections: 64,
        total: PASSED,
        frames: 0,
        mark: '"total_tokens":100',
      });
    // Each process compiles for itself: two of them take twice as long.
    for (let n = 0; n < 2 * workers; n++) await load();
    const { seconds } = await load();
    return PASSED / seconds;
  };
  const rows: Row[] = [];
  for (const { what, unit, run } of [
    { what: 'research, 2 000 streams, two workers', unit: 'deltas/s', run: research },
    { what: 'pass-through, 64 connections, two workers', unit: 'requests/s', run: pass },
  ]) {
    const results = await interleaved(
      [
        { name: 'one', run: () => run(1) },
        { name: 'two', run: () => run(2) },
      ],
      Math.min(3, rounds),
    );
    rows.push({
      what,
      unit,
      ours: results.get('two') ?? [],
      peer: { name: 'one process', rounds: results.get('one') ?? [] },
      goal: { atLeast: 1.7 },
    });
  }
  return rows;
}

/** A gateway rests this long after its start, in milliseconds. */
const REST_MS = 8000;

/** CPU until it listens, and memory at rest. */
export async function start({ rounds }: BenchOptions): Promise<Row[]> {
  await using provider = await startScript('targets/raw-provider.ts', ['1']);
  // The first start keeps compiled code for the others.
  await (await startGateway(proxyConfig(provider)))[Symbol.asyncDispose]();
  const measured: { seconds: number; rss: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    await using gateway = await startGateway(proxyConfig(provider));
    const seconds = cpuMicros(gateway.pid) / 1e6;
    await delay(REST_MS);
    measured.push({ seconds, rss: rssMb(gateway.pid) });
  }
  const of = (pick: (round: (typeof measured)[number]) => number) => measured.map(pick);
  return [
    { what: 'start, CPU until it listens', unit: 's', ours: of(({ seconds }) => seconds), goal: { atMost: 0.7 } },
    { what: 'memory at rest', unit: 'MiB', ours: of(({ rss }) => rss), goal: { atMost: 200 } },
  ];
}

/** What an installation without development packages and without Node itself takes on disk. */
export async function install(): Promise<Row[]> {
  const listed = execFileSync('npm', ['ls', '--omit=dev', '--omit=optional', '--all', '--parseable'], {
    encoding: 'utf8',
  });
  const folders = listed.split('\n').filter((path) => path.includes('node_modules'));
  const kilobytes = execFileSync('du', ['-sk', '--exclude=node_modules', ...folders], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .reduce((sum, line) => sum + Number(line.split('\t')[0]), 0);
  return [
    { what: 'installation without Node and development', unit: 'MiB', ours: [kilobytes / 1024], goal: { atMost: 160 } },
  ];
}
