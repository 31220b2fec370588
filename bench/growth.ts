import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { silentLogger } from '../src/base/logger.ts';
import { openSqliteStore } from '../src/store/sqlite/open.ts';
import { typical } from './scenarios/many-runs.ts';
import { endedRun, HEADERS } from './scenarios/reading.ts';
import { liveLoad } from './support/live-load.ts';
import { cpuMicros, figure, median, table } from './support/measure.ts';
import { type Plot, svgPlot } from './support/plot.ts';
import { researchConfig, startGateway, startScript } from './support/processes.ts';
import { fill } from './support/stored-runs.ts';
import { inParallel, readStream } from './support/stream-client.ts';

/**
 * `npm run bench:growth -- [--write] [name ...]`: what grows with what, over three decades. Prints the points; `--write`
 * draws them into docs/images. What stays flat costs the same however large an installation is.
 */
const GROWTH: Readonly<Record<string, () => Promise<Plot>>> = {
  events: byEvents,
  readers: byReaders,
  streams: byStreams,
  runs: byRuns,
  users: byUsers,
};

/** How long a replay takes, and a resume ten events before the end, by the length of the run. */
async function byEvents(): Promise<Plot> {
  const replay: [number, number][] = [];
  const resume: [number, number][] = [];
  for (const events of [10, 100, 1000, 10_000]) {
    await using provider = await startScript('targets/paced-provider.ts', [String(events)]);
    await using gateway = await startGateway(researchConfig(provider));
    const url = `${gateway.url}/v1/responses/${await endedRun(gateway)}?stream=true`;
    const { events: last } = await readStream(url, { headers: HEADERS });
    const read = async (after: number) => {
      const cpu = cpuMicros(gateway.pid);
      const times = Math.max(50, Math.round(50_000 / events));
      await inParallel(times, 4, async () => {
        await readStream(`${url}&after=${after}`, { headers: HEADERS });
      });
      return (cpuMicros(gateway.pid) - cpu) / times;
    };
    await read(0);
    replay.push([last, (await read(0)) / last]);
    resume.push([last, await read(last - 10)]);
  }
  return {
    title: 'CPU of reading an ended run',
    x: 'events of the run',
    y: 'µs of CPU',
    series: [
      { name: 'replay, for each event', points: replay },
      { name: 'resume 10 before the end', points: resume },
    ],
  };
}

/** What an event costs that many clients follow, for each of them. */
async function byReaders(): Promise<Plot> {
  const deltas = 100;
  const points: [number, number][] = [];
  await using provider = await startScript('targets/ticking-provider.ts', ['20', String(deltas)]);
  await using gateway = await startGateway(researchConfig(provider));
  await liveLoad(gateway, { path: '/v1/responses', streams: 100, deltas });
  for (const readers of [1, 10, 100, 250]) {
    const body = JSON.stringify({ model: 'bench', input: `${readers}`, background: true, tool_choice: 'none' });
    const created = await fetch(`${gateway.url}/v1/responses`, { method: 'POST', headers: HEADERS, body });
    const { id } = (await created.json()) as { id: string };
    const cpu = cpuMicros(gateway.pid);
    const url = `${gateway.url}/v1/responses/${id}?stream=true`;
    await inParallel(readers, readers, async () => void (await readStream(url, { headers: HEADERS })));
    points.push([readers, (cpuMicros(gateway.pid) - cpu) / deltas / readers]);
  }
  return {
    title: 'CPU of following one live run',
    x: 'readers',
    y: 'µs of CPU an event and reader',
    series: [{ name: 'SQLite', points }],
  };
}

/** What a delta of a steady stream costs, and how late it comes, by how many streams there are. */
async function byStreams(): Promise<Plot> {
  const deltas = 100;
  const cpu: [number, number][] = [];
  const lag: [number, number][] = [];
  await using provider = await startScript('targets/ticking-provider.ts', ['20', String(deltas)]);
  await using gateway = await startGateway(researchConfig(provider));
  // A process that has just started compiles its code: that is not what a stream costs.
  await liveLoad(gateway, { path: '/v1/responses', streams: 100, deltas });
  for (const streams of [1, 10, 100, 300, 1000]) {
    const { cpuPerDelta, delays } = await liveLoad(gateway, { path: '/v1/responses', streams, deltas });
    cpu.push([streams, cpuPerDelta]);
    lag.push([streams, Math.max(0.1, median(delays))]);
  }
  return {
    title: 'A delta of a steady stream, stored before it is delivered',
    x: 'live streams of 20 deltas a second',
    y: 'µs of CPU; ms',
    series: [
      { name: 'CPU, µs', points: cpu },
      { name: 'lag p50, ms', points: lag },
    ],
  };
}

/** What a list of 100 and a submission cost, by how many runs are stored. */
async function byRuns(): Promise<Plot> {
  return await lists({
    title: 'A store of many runs (SQLite, 1 000 users)',
    x: 'stored runs',
    sizes: [1000, 10_000, 100_000].map((runs) => ({ at: runs, runs, users: 1000 })),
  });
}

/** The same by how many users the runs belong to. */
async function byUsers(): Promise<Plot> {
  return await lists({
    title: 'A store of many users (SQLite, 30 000 runs)',
    x: 'users',
    sizes: [10, 100, 1000, 10_000].map((users) => ({ at: users, runs: 30_000, users })),
  });
}

async function lists(options: {
  title: string;
  x: string;
  sizes: readonly { at: number; runs: number; users: number }[];
}): Promise<Plot> {
  const all: [number, number][] = [];
  const rare: [number, number][] = [];
  for (const { at, ...size } of options.sizes) {
    const folder = await mkdtemp(join(tmpdir(), 'growth-'));
    const store = openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger });
    try {
      await fill(store, size);
      const list = (query: object) =>
        typical(() => store.list({ user: 'user-1', api: 'responses', limit: 100, ...query }));
      all.push([at, await list({})]);
      rare.push([at, await list({ status: ['failed'], model: 'wide' })]);
    } finally {
      await store.close();
      await rm(folder, { recursive: true });
    }
  }
  const { title, x } = options;
  const series = [
    { name: 'list of 100', points: all },
    { name: 'by rare status and model', points: rare },
  ];
  return { title, x, y: 'ms, median', series };
}

const { values, positionals: names } = parseArgs({
  options: { write: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const images = fileURLToPath(new URL('../docs/images/', import.meta.url));
for (const [name, measure] of Object.entries(GROWTH)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const plot = await measure();
  const rows = plot.series.flatMap((series) => series.points.map(([x, y]) => [series.name, figure(x), figure(y)]));
  console.log(`${plot.title}\n\n${table(['', plot.x, plot.y], rows)}\n`);
  if (!values.write) continue;
  await mkdir(images, { recursive: true });
  await writeFile(join(images, `growth-${name}.svg`), svgPlot(plot));
}
process.exit();
