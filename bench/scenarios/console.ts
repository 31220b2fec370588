import { launchBrowser } from '../../test/support/browser.ts';
import { cpuOfFrames } from '../support/frames.ts';
import { quantile } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { startGateway, startScript } from '../support/processes.ts';
import type { Row } from '../support/scoreboard.ts';

/** The console in Chromium: how soon it is there, and what a frame costs while a long run is watched. */

/** Events a second while frames are measured: several times what a provider writes. */
const RATE = '500';
const TRACED = ['devtools.timeline', 'disabled-by-default-devtools.timeline'];

/** The gateway as it is at first: the demo model, and the key that the page fills in. */
const DEMO = {
  server: {},
  providers: { demo: { builtin: 'demo' } },
  models: { deep: { kind: 'research', routes: [{ provider: 'demo', model: 'demo' }] } },
  keys: [{ id: 'local', secret: 'sk-local' }],
};

/** The first visit, with an empty cache, and another, with a full one. */
export async function consolePaint({ rounds }: BenchOptions): Promise<Row[]> {
  await using gateway = await startGateway(DEMO);
  await using browser = await launchBrowser();
  const visits = { first: [], again: [] } as Record<'first' | 'again', { paint: number; ready: number }[]>;
  for (let round = 0; round < rounds; round += 1) {
    await using context = await browser.newContext();
    const page = await context.newPage();
    for (const visit of ['first', 'again'] as const) {
      await page.goto(`${gateway.url}/console`);
      await page.getByRole('textbox', { name: 'Question' }).waitFor();
      visits[visit].push({
        paint: Number(await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`)),
        ready: Number(await page.evaluate(`performance.getEntriesByName('ready')[0].startTime`)),
      });
    }
  }
  const row = (what: string, ours: number[], atMost: number): Row => ({ what, unit: 'ms', ours, goal: { atMost } });
  return [
    row(
      'console, first visit: first paint',
      visits.first.map(({ paint }) => paint),
      300,
    ),
    row(
      'console, first visit: a question can be typed',
      visits.first.map(({ ready }) => ready),
      1000,
    ),
    row(
      'console, next visit: a question can be typed',
      visits.again.map(({ ready }) => ready),
      500,
    ),
  ];
}

/** A run of 10 000 events while it is watched: CPU of each frame, of which a screen shows one in 16 ms. */
export async function consoleFrames({ rounds }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const tab of ['Report', 'Log', 'Sources']) {
    const ours: number[] = [];
    for (let round = 0; round < Math.min(rounds, 3); round += 1) ours.push(quantile(await watchedRun(tab), 0.95));
    rows.push({
      what: `console, 10 000 events at ${RATE}/s, ${tab}: CPU a frame`,
      unit: 'p95 ms',
      ours,
      goal: { atMost: 16 },
    });
  }
  return rows;
}

async function watchedRun(tab: string): Promise<number[]> {
  await using target = await startScript('targets/console-stream.ts', [RATE]);
  await using browser = await launchBrowser();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${target.url}/console`);
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  const entry = page.locator('.entry-open', { hasText: 'Bench' });
  await entry.waitFor();
  await browser.startTracing(page, { categories: TRACED });
  await entry.click();
  await page.getByRole('tab', { name: new RegExp(`^${tab}`) }).click();
  await page.locator('.run-about .status[data-status="completed"]').waitFor({ timeout: 180_000 });
  return cpuOfFrames(await browser.stopTracing());
}
