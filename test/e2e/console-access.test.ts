import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { type Gateway, startGateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { askOn, confirm, openConsole, scrollToEnd, untilFocused, untilStatus } from '../support/console-page.ts';
import { untilHolds } from '../support/eventually.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import { syntheticRun, syntheticStream } from '../support/synthetic-run.ts';
import { patience } from '../support/time-limit.ts';

const QUESTION = 'How does a client resume a dropped stream?';
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Dark mode changes colours only, so only rules about colours are checked again. */
const RULES = {
  light: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  dark: ['color-contrast', 'link-in-text-block'],
};

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

describe('accessibility of the console', function () {
  // A browser opens every view.
  this.timeout(patience(60));
  let browser: Browser;
  let gateway: Gateway;
  before(async () => {
    browser = await sharedBrowser();
    const routes = [{ provider: 'demo', model: 'demo' }];
    const config = configSchema.parse({
      server: { port: 0, shutdown_grace_seconds: 1 },
      store: { url: 'memory:' },
      providers: { demo: { builtin: 'demo' } },
      models: { 'a-model-with-a-rather-long-name-deepresearch': { kind: 'research', routes } },
      keys: [{ id: 'local', secret: 'sk-local', admin: true, limits: { requests_per_minute: 600 } }],
      tools: { web_search: { provider: 'local', folder: './docs' } },
    });
    gateway = await startGateway({ config, log: silentLogger, load: IDLE_LOAD });
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  const open = async (change: Partial<Parameters<typeof openConsole>[1]> = {}) => {
    const console = await openConsole(browser, { url: gateway.url, ...change });
    await console.page.goto(gateway.url);
    await console.page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    return console;
  };

  /** Fails if axe finds something serious, in light or in dark mode: on the page, or in its `part` that is new. */
  const assertAccessible = async (page: Page, view: string, part = 'html') => {
    if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(AXE);
    for (const [colorScheme, rules] of Object.entries(RULES)) {
      await page.emulateMedia({ colorScheme: colorScheme === 'dark' ? 'dark' : 'light' });
      const found: unknown = await page.evaluate(
        // Naming each element that passes takes longer than judging it.
        `axe.run('${part}', { runOnly: ${JSON.stringify(rules)}, resultTypes: ['violations'], selectors: false })
          .then(({ violations }) => violations)`,
      );
      assert.ok(Array.isArray(found));
      const serious = (found as Violation[]).filter(({ impact }) => impact === 'serious' || impact === 'critical');
      const shown = serious.map(
        ({ id, nodes }) =>
          `${id}: ${nodes
            .slice(0, 3)
            .map(({ html, failureSummary }) => `${html} ${failureSummary}`)
            .join('\n')}`,
      );
      assert.deepEqual(shown, [], `${view}, ${colorScheme}`);
    }
  };

  const assertNothingSticksOut = (page: Page, view: string) =>
    untilHolds(async () => {
      const width: unknown = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      assert.equal(width, 0, `${view} is wider than its window`);
    });
  /** What each tab of a run shows once it is drawn. */
  const TABS = [
    { tab: /^Timeline/, drawn: '.timeline-wide .row, .timeline-wide .quiet' },
    { tab: /^Waterfall/, drawn: '.fall-shares, .empty' },
    { tab: /^Sources/, drawn: '.run-main .card, .empty' },
    { tab: /^Log/, drawn: '.log-row' },
  ];
  const openTab = async (page: Page, { tab, drawn }: (typeof TABS)[number]) => {
    await page.getByRole('tab', { name: tab }).click();
    await page.locator(drawn).first().waitFor();
  };

  it('axe finds nothing serious in any view, light or dark', async () => {
    await using console = await open({ reducedMotion: 'reduce' });
    const { page } = console;
    await page.getByText('Tools, limits and format').click();
    await page.getByRole('button', { name: 'Add an MCP server' }).click();
    await assertAccessible(page, 'ask');
    await askOn(page, QUESTION);
    await untilStatus(page, 'completed');
    await page.locator('.prose .cite').first().waitFor();
    await page
      .getByRole('button', { name: /^Search/ })
      .first()
      .click();
    await page.getByRole('button', { name: 'Replay' }).click();
    await assertAccessible(page, 'run');
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByRole('menuitem').first().waitFor();
    await assertAccessible(page, 'run with an open menu', '[role=menu]');
    await page.keyboard.press('Escape');
    await page.locator('.prose .cite').first().focus();
    await page.getByRole('tooltip').waitFor();
    await assertAccessible(page, 'run with the card of a citation', '[role=tooltip]');
    await page.locator('.prose .cite').first().click();
    await page.getByRole('dialog').waitFor();
    await assertAccessible(page, 'source', 'dialog[open]');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    for (const each of TABS) {
      await openTab(page, each);
      if (each.tab.source === '^Waterfall') {
        await page.getByRole('button', { name: 'Prompt of Turn 1' }).click();
        await page.getByText('Texts are shown only if').waitFor();
      }
      await assertAccessible(page, `run, ${each.tab}`, '[role=tabpanel]');
    }
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.locator('.entry-line').first().waitFor();
    await assertAccessible(page, 'runs');
    await page.getByRole('link', { name: 'Documents' }).click();
    await page.getByText('No collections yet').waitFor();
    await assertAccessible(page, 'documents');
    await page.getByLabel('Name of a new collection').fill('Contracts');
    await page.keyboard.press('Enter');
    await page.getByText('No documents yet').waitFor();
    await assertAccessible(page, 'a collection');
    await confirm(page, { name: 'Delete', question: 'Delete? Its documents stay.' });
    await page.getByText('No collections yet').waitFor();
    await page.getByRole('link', { name: 'Operate' }).click();
    await page.getByRole('cell', { name: 'demo' }).waitFor();
    await assertAccessible(page, 'operate');
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('button', { name: /^local/ }).click();
    await page.getByText('change it there').waitFor();
    await page.getByLabel('Access to').selectOption({ index: 1 });
    await page.getByText('allowed', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'New key' }).click();
    await assertAccessible(page, 'keys');
    await page.getByLabel('Id').fill('of-axe');
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: 'New secret' }).waitFor();
    await page.getByRole('button', { name: /^of-axe/ }).click();
    await page.getByRole('button', { name: 'Rotate' }).waitFor();
    await assertAccessible(page, 'a new key');
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('img', { name: /^Requests by day/ }).waitFor();
    await assertAccessible(page, 'usage');
    await page.getByRole('link', { name: 'Configuration' }).click();
    await page.getByText('research', { exact: true }).first().waitFor();
    await assertAccessible(page, 'configuration');
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('row').nth(1).waitFor();
    await assertAccessible(page, 'audit');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    await assertAccessible(page, 'sign in');
    await console.assertHarmless();
  });

  it('the theme can be chosen, and survives a reload', async () => {
    await using console = await open({ colorScheme: 'light' });
    const { page } = console;
    const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    const light = await background();
    await page.getByRole('button', { name: 'Theme: auto' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
    const dark = await background();
    assert.notEqual(dark, light);
    await page.reload();
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
    assert.equal(await background(), dark);
  });

  it('the keyboard alone can ask, read, open a citation, follow up, replay and list', async () => {
    await using console = await open();
    const { page } = console;
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = () =>
      page.evaluate(
        'document.activeElement?.textContent?.trim().slice(0, 60) || document.activeElement?.getAttribute("aria-label") || document.activeElement?.id',
      );
    /** Presses Tab until the text of the focused element matches. */
    const tabTo = async (found: RegExp) => {
      for (let n = 0; n < 80; n += 1) {
        await press('Tab');
        if (found.test(String(await focused()))) return;
      }
      assert.fail(`Tab does not reach ${found}; the focus is on ${await focused()}`);
    };
    // The question has the focus from the start.
    await untilFocused(page, page.getByLabel('Question', { exact: true }));
    await page.keyboard.type(QUESTION);
    await press('Control+Enter');
    await untilStatus(page, 'completed');
    await page.locator('.prose .cite').first().waitFor();
    await tabTo(/^Report$/);
    await press('ArrowRight');
    await untilFocused(page, page.getByRole('tab', { name: /^Timeline/ }));
    await press('ArrowLeft');
    await page.locator('.prose .cite').first().waitFor();
    await tabTo(/^1$/);
    await press('Enter');
    await page.getByRole('dialog').waitFor();
    await press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await untilHolds(async () => assert.match(String(await focused()), /^1$/, 'the focus is where it was'));
    await tabTo(/^question$/);
    await page.keyboard.type('And at the end?');
    await press('Control+Enter');
    await page.getByRole('heading', { name: 'And at the end?' }).waitFor();
    await untilStatus(page, 'completed');
    await tabTo(/^Replay$/);
    await press('Enter');
    await tabTo(/^Event$/);
    await press('Home');
    await untilStatus(page, 'in_progress');
    await press('End');
    await untilStatus(page, 'completed');
    await page.evaluate('document.activeElement.blur()');
    await tabTo(/^Skip to content$/);
    await press('Enter');
    await page.evaluate('document.activeElement.blur()');
    await tabTo(/^Runs$/);
    await press('Enter');
    await page.locator('.entry-line').first().waitFor();
    await untilFocused(page, page.getByRole('heading', { level: 1, name: 'Runs' }));
    await console.assertHarmless();
  });

  it('every view fits a phone, with long German and Chinese words too', async () => {
    await using console = await open({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    const { page } = console;
    await assertNothingSticksOut(page, 'ask');
    await page.getByText('Tools, limits and format').click();
    await page.getByRole('button', { name: 'Add an MCP server' }).click();
    await assertNothingSticksOut(page, 'ask with its options');
    const german =
      'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft und Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz?';
    await askOn(page, german);
    await untilStatus(page, 'incomplete');
    await assertNothingSticksOut(page, 'run');
    for (const each of TABS) {
      await openTab(page, each);
      await assertNothingSticksOut(page, `run, ${each.tab}`);
    }
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByRole('menuitem').first().waitFor();
    for (const entry of await page.getByRole('menuitem').all()) {
      const box = await entry.boundingBox();
      assert.ok(box && box.x >= 0 && box.x + box.width <= 360, 'the whole menu can be read');
    }
    await page.keyboard.press('Escape');
    await assertAccessible(page, 'log on a phone');
    await page.getByRole('button', { name: 'Replay' }).click();
    await assertNothingSticksOut(page, 'replay');
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.locator('.entry-line').first().waitFor();
    await assertNothingSticksOut(page, 'runs');
    await assertAccessible(page, 'runs on a phone');
    await page.getByRole('link', { name: 'Documents' }).click();
    await page.getByText('No collections yet').waitFor();
    await assertNothingSticksOut(page, 'documents');
    await page.getByRole('link', { name: 'Operate' }).click();
    await page.getByRole('cell', { name: 'demo' }).waitFor();
    await assertNothingSticksOut(page, 'operate');
    await page.getByRole('link', { name: 'Ask', exact: true }).click();
    await askOn(page, '流式传输中断后客户端如何恢复？'.repeat(12));
    await untilStatus(page, 'incomplete');
    await assertNothingSticksOut(page, 'run in Chinese');
    const chinese = `# 标题${'很长的标题'.repeat(20)}\n\n${'没有空格的中文段落。'.repeat(60)} [1]\n\n| 列 | ${'宽'.repeat(40)} |\n|---|---|\n| ${'a'.repeat(90)} | b |\n\n\`${'x'.repeat(200)}\`\n\n- ${'https://example.org/'.padEnd(200, 'y')}\n`;
    const annotations = [
      {
        type: 'url_citation',
        start_index: chinese.indexOf('[1]'),
        end_index: chinese.indexOf('[1]') + 3,
        url: `https://example.org/${'z'.repeat(300)}`,
        title: '来'.repeat(200),
        index: 1,
        source_id: 1,
        verified: true,
      },
    ];
    await showSynthetic(page, syntheticRun({ id: 'resp_1', answer: chinese, annotations }));
    await page.locator('.prose table').waitFor();
    await assertNothingSticksOut(page, 'a report with long words');
    await assertAccessible(page, 'a report on a phone');
    await page.locator('.prose .cite').click();
    await page.getByRole('dialog').waitFor();
    await assertNothingSticksOut(page, 'a source with a long name');
    await console.assertHarmless();
  });

  it('a run of 10 000 events draws only the rows that are visible', async () => {
    await using console = await open();
    const { page } = console;
    const calls = Array.from({ length: 5000 }, (_, at) => ({
      id: `tc_${at}`,
      type: 'tool_call',
      name: 'web_search',
      arguments: JSON.stringify({ queries: [`query ${at}`] }),
      result: JSON.stringify({
        results: [{ title: `Page ${at}`, url: `https://example.org/${at}`, snippet: 'x', source_id: at + 1 }],
      }),
      status: 'completed',
    }));
    const events = syntheticRun({ id: 'resp_1', answer: 'Done with all of it.', items: calls });
    assert.ok(events.length > 10_000);
    await showSynthetic(page, events);
    await page.getByText('Done with all of it.').waitFor();
    const rows = () => page.locator('.run-side .row').count();
    assert.ok((await rows()) < 80, `${await rows()} rows are drawn`);
    const last = page.locator('.run-side .row', { hasText: 'Report' });
    await scrollToEnd(page.locator('.run-side .virtual'), last);
    assert.ok((await rows()) < 80, `${await rows()} rows are drawn`);
    await page.locator('.run-side .virtual').evaluate((list) => list.scrollTo(0, list.scrollHeight / 2));
    await page
      .locator('.run-side .row', { hasText: /query 2[45]\d\d/ })
      .first()
      .waitFor();
    await page.getByRole('tab', { name: /^Log/ }).click();
    await scrollToEnd(page.locator('.log .virtual'), page.locator('.log-row', { hasText: /^100\d\dcompleted/ }));
    assert.ok((await page.locator('.log-row').count()) < 120);
    await page.locator('.log-row').last().click();
    const event = page.getByRole('figure', { name: /^Event 100\d\d/ });
    await untilHolds(async () => {
      const box = await event.boundingBox();
      assert.ok(box && box.y < 700, 'what was chosen is in sight');
    });
    await page.getByRole('tab', { name: /^Sources/ }).click();
    await page.locator('.card').first().waitFor();
    assert.ok((await page.locator('.card').count()) <= 400);
    await console.assertHarmless();
  });

  it('printing shows the report, its question and its cited sources, and nothing of the page around it', async () => {
    await using console = await open({ colorScheme: 'dark' });
    const { page } = console;
    await askOn(page, QUESTION);
    await untilStatus(page, 'completed');
    await page.locator('.report-sources').waitFor();
    await page.locator('.prose li').first().waitFor();
    await page.emulateMedia({ media: 'print' });
    for (const shown of ['h1', '.prose', '.report-sources']) assert.ok(await page.locator(shown).isVisible(), shown);
    for (const hidden of ['.top', '.actions', '.meters', '.run-side', '.follow-up']) {
      assert.ok(!(await page.locator(hidden).first().isVisible()), hidden);
    }
    const note = await page.locator('.print-notes li').first().innerText();
    assert.match(note, /^\[1\]\s*\S.*\. corpus:\/\/\/\S+ .*\w{3}/s, 'a citation is a numbered note with its words');
    assert.ok(!(await page.locator('.card').first().isVisible()), 'what opens on the screen is not printed');
    assert.equal(await page.evaluate('getComputedStyle(document.querySelector(".prose")).color'), 'rgb(0, 0, 0)');
    const pdf = await page.pdf({ format: 'A4' });
    assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
    await page.emulateMedia({ media: null });
  });

  /** Shows a finished run with these events, as if it were in the list. */
  async function showSynthetic(page: Page, events: object[]): Promise<void> {
    const data = [
      { id: 'resp_1', status: 'completed', model: 'deep', created_at: 1, metadata: { title: 'Synthetic' } },
    ];
    await page.route('**/v1/responses?*', (route) => route.fulfill({ json: { data, has_more: false } }));
    await page.route('**/v1/responses/*/input_items*', (route) => route.fulfill({ json: { data: [] } }));
    await page.route('**/v1/responses/resp_1?stream=true*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: syntheticStream(events) }),
    );
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.locator('.entry-open', { hasText: 'Synthetic' }).click();
  }
});
