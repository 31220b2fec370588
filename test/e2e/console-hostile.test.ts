import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { sharedBrowser } from '../support/browser.ts';
import { openConsole, signIn, untilStatus } from '../support/console-page.ts';
import { untilHolds } from '../support/eventually.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { KEYS } from '../support/http-gateway.ts';
import { fetchDocument, openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import { syntheticRun, syntheticStream } from '../support/synthetic-run.ts';
import { patience } from '../support/time-limit.ts';

/** How many payloads one real run contains. */
const TOGETHER = 6;

describe('the console shows hostile texts as text', function () {
  // A browser shows hundreds of texts.
  this.timeout(patience(60));
  let browser: Browser;
  let gateway: ResearchGateway;
  before(async () => {
    browser = await sharedBrowser();
    gateway = await openResearchGateway({
      documents: Object.fromEntries(
        HOSTILE_TEXTS.map((text, at) => [
          `d${at}.md`,
          `# ${text}\n\nTea of kind k${at}k: ${text}\n\nMore about tea.\n`,
        ]),
      ),
      model: ({ research, text }) => {
        const own = HOSTILE_TEXTS.filter(
          (payload) => text.includes(JSON.stringify(payload).slice(1, -1)) || text.includes(payload),
        );
        if (!research)
          return { text: `# ${own[0]}\n\n${own.map((payload) => `${payload}\n\nCited [1]. Odd [77].`).join('\n\n')}` };
        if (text.includes('corpus:///')) return { reasoning: own.join('\n'), text: 'Ready.' };
        const calls = own.map((payload) => ({ name: 'web_search', arguments: { queries: [payload, 'tea'] } }));
        const read = HOSTILE_TEXTS.flatMap((payload, at) =>
          own.includes(payload) ? [fetchDocument(`d${at}.md`)] : [],
        );
        return {
          reasoning: own.join('\n'),
          toolCalls: [...calls.slice(0, 2), ...read, { name: own[0] ?? 'x', arguments: own[0] ?? '' }],
        };
      },
    });
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  const open = async () => {
    const console = await openConsole(browser, { url: gateway.url, secrets: [KEYS.ann] });
    await console.page.goto(`${gateway.url}/console`);
    return console;
  };
  /** Expands the rows of the timeline that are drawn. */
  const openRows = async (page: Page) => {
    for (const closed of ['.entry-head[aria-expanded=false]', '.raw:not([open]) > summary']) {
      await page.evaluate(`document.querySelectorAll('.run-side ${closed}').forEach((element) => element.click())`);
    }
  };
  /** Expands everything, so that everything is drawn. */
  const openEverything = async (page: Page) => {
    await openRows(page);
    for (const tab of [/^Sources/, /^Log/, /^Report/]) await page.getByRole('tab', { name: tab }).click();
  };

  it('in questions, titles, thoughts, tool calls, pages and answers of real runs', async () => {
    for (let at = 0; at < HOSTILE_TEXTS.length; at += TOGETHER) {
      const question = HOSTILE_TEXTS.slice(at, at + TOGETHER).join('\n');
      const metadata = { title: HOSTILE_TEXTS[at], note: question };
      const response = await gateway.respond({ input: question, metadata, instructions: question });
      assert.equal(response.status, 'completed', JSON.stringify(response.error));
    }
    await using console = await open();
    const { page } = console;
    await signIn(page, KEYS.ann);
    await page.getByRole('link', { name: 'Runs' }).click();
    const entries = page.locator('.entry-line');
    const count = Math.ceil(HOSTILE_TEXTS.length / TOGETHER);
    await untilHolds(async () => assert.equal(await entries.count(), count));
    for (let at = 0; at < count; at += 1) {
      await entries.nth(at).locator('.entry-open').click();
      await untilStatus(page, 'completed');
      await page.locator('.prose').getByText('Cited').first().waitFor();
      await openEverything(page);
      await page.locator('.prose .cite').first().click();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await console.assertHarmless();
      await page.getByRole('link', { name: 'Runs', exact: true }).click();
      await entries.first().waitFor();
    }
    await page.getByText('<script>globalThis.hit=1</script>').first().waitFor();
  });

  it('in the Markdown of an answer, one by one', async () => {
    await using console = await open();
    const { page } = console;
    await signIn(page, KEYS.ann);
    await page.route('**/v1/responses/*/input_items*', (route) => route.fulfill({ json: { data: [] } }));
    await page.route('**/v1/responses/*?stream=true*', (route) => {
      const at = Number(/resp_(\d+)/.exec(route.request().url())?.[1]);
      const events = syntheticRun({ id: `resp_${at}`, answer: `Start\n\n${HOSTILE_TEXTS[at]}` });
      return route.fulfill({ contentType: 'text/event-stream', body: syntheticStream(events) });
    });
    for (const at of HOSTILE_TEXTS.keys()) {
      // What a click in the list does, without drawing the list each time.
      await page.evaluate(`import(globalThis.appAddress ??= new URL('app.js', document.querySelector('script[src]').src))
        .then(({ go }) => go({ name: 'run', id: 'resp_${at}' }))`);
      await page.locator('.prose').getByText('Start').waitFor();
      const links = await page.locator('.prose a').evaluateAll((found) => found.map((link) => link.outerHTML));
      for (const link of links)
        assert.match(link, /^<a href="https?:\/\/[^>]* target="_blank" rel="noreferrer noopener nofollow"/);
      assert.equal(new URL(page.url()).pathname, `/console/runs/resp_${at}`);
    }
    await console.assertHarmless();
  });

  it('in every other field: names, models, errors, warnings, URLs, item types', async () => {
    await using console = await open();
    const { page } = console;
    await signIn(page, KEYS.ann);
    const items = HOSTILE_TEXTS.flatMap((text, at) => [
      { id: `rs_${at}`, type: 'reasoning', status: 'completed', content: [{ type: 'reasoning_text', text }] },
      {
        id: `tc_${at}`,
        type: 'tool_call',
        name: text,
        arguments: text,
        result: text,
        status: at % 2 ? 'failed' : 'completed',
      },
      {
        id: `ws_${at}`,
        type: 'tool_call',
        name: 'web_search',
        arguments: JSON.stringify({ queries: [text] }),
        result: JSON.stringify({ results: [{ title: text, url: text, snippet: text, source_id: text }] }),
        status: 'completed',
      },
      {
        id: `fe_${at}`,
        type: 'tool_call',
        name: 'fetch_url_content',
        arguments: JSON.stringify({ url: text, goal: text }),
        result: JSON.stringify({
          url: `javascript:globalThis.hit=1//${at}`,
          title: text,
          content: text,
          source_id: at,
        }),
        status: 'completed',
      },
      {
        id: `er_${at}`,
        type: 'tool_call',
        name: 'execute_python',
        arguments: JSON.stringify({ code: text }),
        result: JSON.stringify({ error: { message: text, code: text } }),
        status: 'failed',
      },
      { id: `mc_${at}`, type: 'mcp_call', server_label: text, name: text, arguments: text, output: text, status: text },
      { id: `un_${at}`, type: text, status: text, action: { type: text } },
    ]);
    const answer = HOSTILE_TEXTS.map((_, at) => `Claim [${at + 1}].`).join(' ');
    const annotations = HOSTILE_TEXTS.map((text, at) => {
      const start = answer.indexOf(`[${at + 1}]`);
      return {
        type: 'url_citation',
        start_index: start,
        end_index: start + `[${at + 1}]`.length,
        url: at % 2 ? text : `javascript:globalThis.hit=1//${at}`,
        title: text,
        index: at + 1,
        source_id: at,
        verified: at % 3 === 0,
      };
    });
    const text = HOSTILE_TEXTS.join('\n');
    const response = {
      model: text,
      previous_response_id: text,
      error: { message: text, code: text, type: text, param: text },
      incomplete_details: { reason: text },
      warnings: HOSTILE_TEXTS.map((message, at) => ({ code: message, message, param: HOSTILE_TEXTS[at - 1] ?? 'x' })),
      reasoning: { effort: text },
      usage: { total_tokens: 5, input_tokens: 3, output_tokens: 2, cost: { total: 1.5, currency: text } },
    };
    const events = syntheticRun({ id: 'resp_1', answer, items, annotations, response });
    const listed = HOSTILE_TEXTS.map((title, at) => ({
      id: `resp_${at}`,
      status: title,
      model: title,
      created_at: 1,
      metadata: { title },
    }));
    await page.route('**/v1/responses?*', (route) => route.fulfill({ json: { data: listed, has_more: false } }));
    await page.route('**/v1/responses/*/input_items*', (route) =>
      route.fulfill({ json: { data: [{ role: 'user', content: text }] } }),
    );
    await page.route('**/v1/responses/*?stream=true*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: syntheticStream(events) }),
    );
    await page.route('**/v1/responses/*/cancel', (route) =>
      route.fulfill({ status: 400, json: { error: { message: text, code: text, param: text, type: text } } }),
    );
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.locator('.entry-open').first().click();
    await page.locator('.prose .cite').nth(40).waitFor();
    await openEverything(page);
    for (const at of [0, 1, 2, 20, 40]) {
      await page.locator('.prose .cite').nth(at).click();
      const dialog = page.getByRole('dialog');
      await dialog.waitFor();
      assert.equal(await dialog.locator('a[href]:not([href^="http"])').count(), 0);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    }
    // Scrolls through the timeline from start to end.
    for (let part = 0; part <= 20; part += 1) {
      const list = page.locator('.run-side .virtual');
      await list.evaluate((element, at) => element.scrollTo(0, (element.scrollHeight * at) / 20), part);
      // The rows are drawn with the next frame.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      await openRows(page);
    }
    await console.assertHarmless();
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByRole('checkbox').nth(0).check();
    await page.getByRole('checkbox').nth(1).check();
    await page.getByRole('button', { name: /^Compare/ }).click();
    for (const tab of ['Sources', 'Events', 'Timelines']) {
      await page.getByRole('tab', { name: tab }).click();
      await page.locator('.compare-side').nth(1).waitFor();
    }
    await console.assertHarmless();
  });

  it('and values that are no texts as JSON: fields of tools and of clients may have any type', async () => {
    await using console = await open();
    const { page } = console;
    await signIn(page, KEYS.ann);
    // Has no text of its own: `String` of it throws.
    const odd = { toString: 'odd' };
    const made = (name: string, args: unknown, result: unknown) => {
      const common = { id: `tc_${name}`, type: 'tool_call', name, status: 'completed' };
      return { ...common, arguments: JSON.stringify(args), result: JSON.stringify(result) };
    };
    const items = [
      { id: 'ts_1', type: 'tool_search_call', arguments: { paths: [odd] }, execution: 'server', status: 'completed' },
      made('web_search', { queries: [odd] }, { results: [{ title: odd, url: odd, snippet: odd }] }),
      made('fetch_url_content', { url: odd, goal: odd }, { title: odd, content: odd }),
      made('execute_python', { code: odd }, { stdout: 1, error: { message: odd, code: odd } }),
      { id: 'mc_1', type: 'mcp_call', server_label: 'a', name: 'b', arguments: '{}', error: odd, status: 'failed' },
      { id: 'sh_1', type: 'shell_call_output', output: [odd], status: 'completed' },
    ];
    const metadata = { title: odd, tag: odd, thread: odd };
    const events = syntheticRun({ id: 'resp_1', answer: 'The end.', items, response: { metadata } });
    const listed = { id: 'resp_1', status: 'completed', model: 'deep', created_at: 1, metadata };
    await page.route('**/v1/responses?*', (route) => route.fulfill({ json: { data: [listed], has_more: false } }));
    await page.route('**/v1/responses/*/input_items*', (route) => route.fulfill({ json: { data: [] } }));
    await page.route('**/v1/responses/*?stream=true*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: syntheticStream(events) }),
    );
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.locator('.entry-open').first().click();
    await page.locator('.prose').getByText('The end.').waitFor();
    for (const at of items.keys()) {
      const head = page.locator('.run-side .entry-head').nth(at);
      await head.click();
      await page.locator(`.run-side #details-${at}`).getByText('"toString"').first().waitFor();
      await head.click();
    }
    await console.assertHarmless();
  });

  it('and says so if it cannot draw a run; the rest of the page works on', async () => {
    await using console = await open();
    const { page } = console;
    await signIn(page, KEYS.ann);
    const events = syntheticRun({ id: 'resp_1', answer: 'The end.', response: { created_at: 'yesterday' } });
    await page.route('**/v1/responses/*?stream=true*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: syntheticStream(events) }),
    );
    await page.goto(`${gateway.url}/console/runs/resp_1`);
    await page.getByRole('alert').getByText('This view cannot be drawn.').waitFor();
    await page.getByRole('link', { name: 'Ask', exact: true }).click();
    await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    await console.assertHarmless();
  });

  it('even if an answer takes forever to parse as Markdown, while the page stays responsive', async () => {
    await using console = await open();
    const { page } = console;
    await signIn(page, KEYS.ann);
    const answer = `Start of it ${'*a **b _c '.repeat(30_000)}${'['.repeat(30_000)}`;
    const events = syntheticRun({ id: 'resp_1', answer });
    await page.route('**/v1/responses?*', (route) =>
      route.fulfill({
        json: {
          data: [{ id: 'resp_1', status: 'completed', model: 'deep', created_at: 1, metadata: { title: 'Slow' } }],
          has_more: false,
        },
      }),
    );
    await page.route('**/v1/responses/*/input_items*', (route) => route.fulfill({ json: { data: [] } }));
    await page.route('**/v1/responses/*?stream=true*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: syntheticStream(events) }),
    );
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.locator('.entry-open').first().click();
    // Meanwhile the page answers.
    await page.getByRole('tab', { name: /^Log/ }).click();
    await page.locator('.log-row').first().waitFor();
    await page.getByRole('tab', { name: /^Report/ }).click();
    await page.locator('.prose').getByText('Start of it').waitFor();
    await console.assertHarmless();
  });
});
