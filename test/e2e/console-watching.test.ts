import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import type { Gateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { startConsoleGateway } from '../support/console-gateway.ts';
import {
  askOn,
  assertFits,
  DESK,
  openConsole,
  PHONE,
  routeRuns,
  scrollToEnd,
  untilStatus,
} from '../support/console-page.ts';
import { untilHolds } from '../support/eventually.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { until } from '../support/http-gateway.ts';
import { syntheticRun } from '../support/synthetic-run.ts';
import { patience } from '../support/time-limit.ts';

const PLAN = [
  { text: 'Who makes it?', status: 'done', finding: 'Three makers' },
  { text: 'What does it cost?', status: 'doing' },
  { text: 'Which colours?', status: 'dropped' },
];

const call = (at: number, query: string, more: object = {}) => ({
  id: `tc_${at}`,
  type: 'tool_call',
  name: 'web_search',
  arguments: JSON.stringify({ queries: [query] }),
  result: JSON.stringify({ results: [] }),
  status: 'completed',
  ...more,
});
const planned = (items: object[]) => call(999, '', { name: 'update_plan', arguments: JSON.stringify({ items }) });
const used = { input_tokens: 12_000, cached_tokens: 10, output_tokens: 300, reasoning_tokens: 20, cost: 0.25 };

describe('watching a run in the console', function () {
  // A browser and a gateway are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  before(async () => {
    browser = await sharedBrowser();
    const routes = [{ provider: 'demo', model: 'demo', price: { input: 3, output: 15 } }];
    gateway = await startConsoleGateway({ models: { deep: { kind: 'research', routes } } });
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  /** Opens a finished run with these items, whose events are `step` milliseconds apart. */
  const open = async (items: object[], { step = 500, turns = [] }: { step?: number; turns?: object[] } = {}) => {
    const console = await openConsole(browser, { url: gateway.url, viewport: DESK });
    const run = { id: 'resp_1', question: 'What lasts?', answer: 'Everything.', items };
    const response = { usage: { total_tokens: 5, cost: { total: 1, currency: 'EUR' } } };
    const times = syntheticRun(run).map((_, index) => [index + 1, index * step]);
    await routeRuns(console.page, [{ ...run, response, times, turns }]);
    await console.page.goto(`${gateway.url}/console/runs/resp_1`);
    await console.page.getByText('Everything.').waitFor();
    return console;
  };
  const fall = (page: Page) => page.getByRole('list', { name: 'Waterfall' });

  it('the waterfall shows turns and calls on a time axis, and a replay runs at the pace of the run', async () => {
    await using console = await openConsole(browser, { url: gateway.url, viewport: DESK });
    const { page } = console;
    await page.goto(`${gateway.url}/console`);
    await askOn(page, 'How does a client resume a dropped stream?');
    await page.getByRole('tab', { name: 'Waterfall' }).click();
    await untilStatus(page, 'completed');
    const rows = fall(page).getByRole('listitem');
    await rows.filter({ hasText: /^Writing[\s\S]* in, [\d.,K]+ out/ }).waitFor();
    await untilHolds(async () =>
      assert.match(
        (await rows.allInnerTexts()).join('\n'),
        /^Turn 1[\s\S]*Search[\s\S]*Turn 2[\s\S]*Read[\s\S]*Writing/,
      ),
    );
    await page.getByText(/^waiting for the model [\d.]+ s$/).waitFor();
    await rows.getByRole('button', { name: 'Prompt of Turn 1' }).click();
    const prompt = page.getByRole('region', { name: 'Prompt of Turn 1' });
    await prompt.getByText(/^2 messages, about [\d,]+ tokens\. Tools: /).waitFor();
    await prompt.getByText('Texts are shown only if').waitFor();
    await untilHolds(async () =>
      assert.match(
        (await prompt.getByRole('listitem').allInnerTexts()).join('|'),
        /^system [\d,]+ tokens *\|user \d+ tokens/,
      ),
    );
    await page.getByRole('button', { name: 'Close the prompt' }).click();
    {
      await using other = await openConsole(browser, { url: gateway.url, viewport: DESK });
      await other.page.goto(page.url());
      const rowsThere = fall(other.page).getByRole('listitem');
      await rowsThere.filter({ hasText: /^Writing/ }).waitFor();
      // The page that saw the run end reads its last times a few seconds later.
      await untilHolds(async () =>
        assert.deepEqual(await rows.allInnerTexts(), await rowsThere.allInnerTexts(), 'the times are the gateway’s'),
      );
    }
    await assertFits(page);

    await page.getByRole('tab', { name: /^Report/ }).click();
    await page.locator('.prose').getByText('Written by the demo model').waitFor();
    const whole = await page.locator('.prose').innerText();
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('At the pace of the run.').waitFor();
    await page.getByRole('slider', { name: 'Event' }).fill('8');
    await untilStatus(page, 'in_progress');
    await page.locator('.waiting-thought').waitFor();
    assert.equal(await page.locator('.prose').count(), 0);
    const slider = page.getByRole('slider', { name: 'Event' });
    await slider.press('End');
    await slider.press('ArrowLeft');
    const spent = page.getByText('so far', { exact: true }).locator('..');
    await spent.getByText(/^\$0\.\d+/).waitFor();
    const before = await spent.innerText();
    await slider.fill('8');
    await untilHolds(async () => assert.notEqual(await spent.innerText(), before));
    await page.getByLabel('Speed').selectOption('64');
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    await untilStatus(page, 'completed');
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
    await untilHolds(async () => assert.equal(await page.locator('.prose').innerText(), whole));
    await console.assertHarmless();
  });

  it('a plan shows its state, lanes are side by side, and each turn shows its tokens and cost', async () => {
    const lanes = [1, 2, 3].flatMap((lane) => [
      call(lane, `in lane ${lane}`, { lane }),
      call(lane + 10, 'more', { lane }),
    ]);
    const turns = [
      { kind: 'research', lane: 1, started_ms: 0, ended_ms: 2000, ...used },
      { kind: 'answer', started_ms: 5000, ended_ms: 9000, ...used, cost: null },
    ];
    await using console = await open([planned(PLAN), ...lanes], { turns });
    const { page } = console;
    const side = page.getByRole('complementary', { name: 'Timeline' });
    await side.getByText('Plan 1 of 2 done').first().click();
    await side.getByText('Three makers').waitFor();
    assert.deepEqual(
      await Promise.all(['done', 'in progress', 'dropped'].map((name) => side.getByRole('img', { name }).count())),
      [1, 1, 1],
    );
    await page.getByRole('tab', { name: /^Report/ }).press('ArrowRight');
    const columns = [1, 2, 3].map((lane) => page.getByRole('region', { name: `Lane ${lane}`, exact: true }));
    await page.getByText('in lane 3').waitFor();
    const boxes = await until(async () => {
      const found = await Promise.all(columns.map((column) => column.boundingBox()));
      return new Set(found.map((box) => box?.y)).size === 1 ? found : undefined;
    });
    assert.ok((boxes[0]?.x ?? 0) < (boxes[1]?.x ?? 0) && (boxes[1]?.x ?? 0) < (boxes[2]?.x ?? 0), 'beside each other');
    await untilHolds(async () =>
      assert.match((await columns[1]?.innerText()) ?? '', /^Lane 2 2 calls[\s\S]*in lane 2/),
    );
    await assertFits(page);
    await page.getByRole('tab', { name: /^Timeline/ }).press('ArrowRight');
    await fall(page)
      .getByRole('listitem')
      .filter({ hasText: /^Turn 1\s*lane 1[\s\S]*2\.0 s\s*waited 1\.5 s\s*12K in, 300 out\s*€0\.25\s*Prompt$/ })
      .waitFor();
    await fall(page)
      .getByRole('listitem')
      .filter({ hasText: /^Writing[\s\S]*12K in, 300 out\s*Prompt$/ })
      .waitFor();
    await assertFits(page);
    await console.assertHarmless();
  });

  it('hostile texts in plans and lanes are shown as text, and 10 000 events draw only the visible rows', async () => {
    const hostile = HOSTILE_TEXTS.slice(0, 40);
    const items = [
      planned(hostile.map((text) => ({ text, status: text, finding: text }))),
      ...hostile.map((text, at) =>
        call(at, text, { lane: at % 3 === 0 ? text : (at % 3) + 1, name: at % 2 ? text : 'web_search' }),
      ),
      ...Array.from({ length: 5000 }, (_, at) => call(at + 1000, `query ${at}`, { lane: (at % 3) + 1 })),
    ];
    const turns = [{ kind: hostile[0], lane: 1, started_ms: 0, ended_ms: 10, ...used, cost: null }];
    await using console = await open(items, { step: 20, turns });
    const { page } = console;
    await page.setViewportSize(PHONE);
    await page.getByRole('tab', { name: /^Timeline/ }).click();
    await page.getByRole('region', { name: 'Lane 3', exact: true }).getByText('Search').first().waitFor();
    await page
      .getByRole('group')
      .filter({ hasText: /^Plan 0 of/ })
      .first()
      .click();
    await assertFits(page);
    const rows = () => page.locator('main .row').count();
    assert.ok((await rows()) < 240, `${await rows()} rows are drawn`);
    await page.getByRole('tab', { name: 'Waterfall' }).click();
    await page.getByText(/^tools /).waitFor();
    assert.ok((await rows()) < 120, `${await rows()} rows are drawn`);
    await scrollToEnd(page.locator('.waterfall .virtual'), fall(page).getByText('query 4999'));
    await assertFits(page);
    await console.assertHarmless();
  });
});
