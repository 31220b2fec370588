import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import type { Gateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { startConsoleGateway } from '../support/console-gateway.ts';
import { askOn, assertFits, DESK, openConsole, PHONE, routeRuns, untilStatus } from '../support/console-page.ts';
import { untilHolds } from '../support/eventually.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { patience } from '../support/time-limit.ts';

const NOW = new Date('2026-11-24T15:00:00');
const secondsAgo = (seconds: number) => Math.floor(NOW.getTime() / 1000) - seconds;
const HOUR = 3600;

const run = (id: string, question: string, ago: number, entry: object = {}) => ({
  id,
  question,
  answer: 'Yes.',
  entry: { created_at: secondsAgo(ago), started_at: secondsAgo(ago), completed_at: secondsAgo(ago - 75), ...entry },
});
const RUNS = [
  run('resp_3', 'And in Norway?', HOUR, {
    metadata: { title: 'And in Norway?' },
    previous_response_id: 'resp_1',
    usage: { total_tokens: 5, cost: { total: 1.25, currency: 'EUR' } },
  }),
  run('resp_2', 'What is tea?', 2 * HOUR, { model: 'mini', metadata: { title: 'What is tea?', tag: 'nightly batch' } }),
  run('resp_1', 'How long do heat pumps last?', 20 * HOUR),
  run('resp_0', 'Which licences allow this?', 80 * HOUR, { metadata: {} }),
];

describe('finding runs in the console', function () {
  // A browser and a gateway are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  before(async () => {
    browser = await sharedBrowser();
    gateway = await startConsoleGateway();
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  const open = async (viewport: { width: number; height: number }, runs: Parameters<typeof routeRuns>[1] = RUNS) => {
    const console = await openConsole(browser, { url: gateway.url, viewport, now: NOW });
    await routeRuns(console.page, runs);
    return console;
  };
  const questions = (page: Page) => page.getByRole('tabpanel').getByRole('link');
  /** Waits until the list shows one run, with this question. */
  const untilQuestion = (page: Page, question: RegExp) =>
    untilHolds(async () => assert.match(await questions(page).innerText(), question));
  const search = (page: Page) => page.getByRole('searchbox', { name: 'Search questions and tags' });

  it('lists runs by day, follow-ups under their question, with duration and cost, and filters in the URL', async () => {
    await using console = await open(DESK);
    const { page } = console;
    await page.goto(`${gateway.url}/console/runs`);
    await page.getByRole('heading', { name: 'Saturday, November 21, 2026' }).waitFor();
    await untilHolds(async () => {
      const headings = await page.getByRole('heading', { level: 2 }).allInnerTexts();
      assert.equal(headings[0], 'Today');
      assert.equal(headings.length, 2);
    });
    const thread = page.getByRole('listitem').filter({ hasText: 'How long do heat pumps last?' });
    const followUp = thread.getByRole('list', { name: 'Follow-ups' }).getByRole('link');
    await followUp.getByText('€1.25').waitFor();
    await untilHolds(async () => assert.match(await followUp.innerText(), /And in Norway\?[\s\S]*1 m 15 s/));
    // A question without a title is read by itself.
    await untilHolds(async () => {
      const order = await questions(page).allInnerTexts();
      assert.match(order.join('\n'), /heat pumps[\s\S]*Norway[\s\S]*tea[\s\S]*licences/);
    });
    await assertFits(page);
    // Filters are in the URL, and the gateway applies them.
    await page.goto(`${gateway.url}/console/runs#status=failed`);
    const [request] = await Promise.all([
      page.waitForRequest(/v1\/responses\?.*model=/),
      page.getByLabel('Model').selectOption('deep'),
    ]);
    assert.equal(new URL(request.url()).search, '?limit=20&status=failed&model=deep');
    await page.waitForURL(`${gateway.url}/console/runs#status=failed&model=deep`);
    await console.assertHarmless();
  });

  it('finds a run by words or by day, and keeps the search in the URL', async () => {
    await using console = await open(PHONE);
    const { page } = console;
    await page.goto(`${gateway.url}/console/runs`);
    await search(page).fill('LICENCES allow');
    // This run has no title: the question is read from its input.
    await page.getByText('1 of 4 runs match.').waitFor();
    await untilQuestion(page, /^Which licences allow this\?/);
    await page.waitForURL(`${gateway.url}/console/runs#q=LICENCES+allow`);
    await page.reload();
    await page.getByText('1 of 4 runs match.').waitFor();
    await search(page).fill('nightly');
    await questions(page).getByText('nightly batch').waitFor();
    await untilQuestion(page, /^What is tea\?/);
    await search(page).fill('nothing like it');
    await page.getByText('No matches').waitFor();
    await search(page).fill('');
    await questions(page).nth(3).waitFor();
    await page.getByLabel('From', { exact: true }).fill('2026-11-21');
    await page.getByLabel('To', { exact: true }).fill('2026-11-22');
    await page.getByText('1 of 4 runs match.').waitFor();
    await untilQuestion(page, /^Which licences allow this\?/);
    await page.waitForURL(`${gateway.url}/console/runs#from=2026-11-21&to=2026-11-22`);
    await assertFits(page);
    await console.assertHarmless();
  });

  it('searches older pages up to a stated limit, and further on demand', async () => {
    await using console = await open(DESK);
    const { page } = console;
    const total = 730;
    await page.route('**/v1/responses?*', (route) => {
      const { searchParams } = new URL(route.request().url());
      const from = searchParams.has('after') ? Number(/\d+/.exec(searchParams.get('after') ?? '')) + 1 : 0;
      const to = Math.min(total, from + Number(searchParams.get('limit')));
      const data = Array.from({ length: to - from }, (_, at) => ({
        id: `resp_${from + at}`,
        status: 'failed',
        model: 'deep',
        created_at: secondsAgo(from + at),
        metadata: { title: from + at === 700 ? 'The one about needles' : 'Hay' },
      }));
      return route.fulfill({ json: { data, has_more: to < total } });
    });
    // The list is refreshed while older pages are asked for.
    const [refreshed, answerRefresh] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let refused = 0;
    await page.route(/v1\/responses\?limit=20$/, async (route) => {
      if (refused > 0) {
        refreshed.resolve();
        await answerRefresh.promise;
      }
      await route.fallback();
    });
    await page.route('**/v1/responses?*after=*', (route) => {
      refused += 1;
      return refused === 1
        ? route.fulfill({ status: 429, json: { error: { message: 'Slow down.' } } })
        : route.fallback();
    });
    await page.goto(`${gateway.url}/console/runs#q=needles`);
    await page.getByText('Slow down.').waitFor();
    await refreshed.promise;
    assert.equal(refused, 1, 'what failed is not asked for again before the list is refreshed');
    answerRefresh.resolve();
    await page.getByText('0 of 520 runs match; older ones were not searched.').waitFor();
    await page.getByRole('button', { name: 'Search older runs' }).click();
    await page.getByText('1 of 730 runs match.').waitFor();
    await untilQuestion(page, /^The one about needles/);
    await console.assertHarmless();
  });

  it('names a run by the last question of a long thread that was sent as a whole', async () => {
    const earlier = Array.from({ length: 60 }, (_, at) => [
      { role: 'user', content: `Question ${at}?` },
      { role: 'assistant', content: `Answer ${at}.` },
    ]);
    const input = [...earlier.flat(), { role: 'user', content: 'And the last one?' }];
    const answer = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-local', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'deep', input, background: true }),
    });
    const { id } = (await answer.json()) as { id: string };
    await using console = await openConsole(browser, { url: gateway.url, viewport: DESK });
    await console.page.goto(`${gateway.url}/console/runs/${id}`);
    await console.page.getByRole('heading', { level: 1, name: 'And the last one?' }).waitFor();
    await console.assertHarmless();
  });

  it('lists a follow-up asked on the page of a run under that run', async () => {
    await using console = await openConsole(browser, { url: gateway.url });
    const { page } = console;
    await page.goto(`${gateway.url}/console`);
    await askOn(page, 'How does a client resume a dropped stream?');
    await untilStatus(page, 'completed');
    const thread = new URL(page.url()).pathname.split('/').at(-1);
    const question = 'And at the end of a stream?';
    await page.getByLabel('Follow-up question').fill(question);
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === 'POST'),
      page.getByRole('button', { name: 'Follow up' }).click(),
    ]);
    assert.deepEqual(request.postDataJSON().metadata, { title: question, thread });
    await page.getByRole('heading', { name: question }).waitFor();
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    const followUps = page.getByRole('list', { name: 'Follow-ups' }).getByRole('link');
    await untilHolds(async () => assert.match(await followUps.innerText(), /^And at the end/));
    await console.assertHarmless();
  });

  it('searches, opens a run and goes back with the keyboard alone', async () => {
    await using console = await open(DESK);
    const { page } = console;
    await page.goto(`${gateway.url}/console/runs`);
    await questions(page).nth(3).waitFor();
    await search(page).focus();
    await page.keyboard.type('tea');
    await page.getByText('1 of 4 runs match.').waitFor();
    const seen: string[] = [];
    while (seen.length < 24 && !/^What is tea/.test(seen.at(-1) ?? '')) {
      await page.keyboard.press('Tab');
      seen.push(
        String(
          await page.evaluate('document.activeElement?.innerText || document.activeElement?.outerHTML.slice(0, 60)'),
        ),
      );
    }
    assert.match(seen.at(-1) ?? '', /^What is tea\?/, seen.join(' | '));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What is tea?', level: 1 }).waitFor();
    await page.goBack();
    await page.getByText('1 of 4 runs match.').waitFor();
    await console.assertHarmless();
  });

  it('shows hostile titles, threads, models, states and searches as text, and the page fits', async () => {
    const long = 'w'.repeat(400);
    const hostile = [...HOSTILE_TEXTS, `\u{202e}${long}`].map((text, at) =>
      run(`resp_${at}`, text, at * HOUR, {
        model: text,
        status: at % 2 ? text : 'completed',
        metadata: { title: text, tag: at % 2 ? text : long, thread: at % 3 ? text : long },
        previous_response_id: text,
        incomplete_details: { reason: text },
        usage: { total_tokens: 1, cost: { total: 1, currency: text } },
      }),
    );
    await using console = await open(PHONE, hostile);
    const { page } = console;
    await page.goto(`${gateway.url}/console/runs`);
    await questions(page)
      .nth(hostile.length - 1)
      .waitFor();
    await page
      .getByText(/^incomplete: /)
      .first()
      .waitFor();
    await assertFits(page);
    await search(page).fill('<script>');
    await page.getByText(/of \d+ runs match\.$/).waitFor();
    await console.assertHarmless();
  });
});
