import assert from 'node:assert/strict';
import type { Browser, Locator } from 'playwright-core';
import type { Gateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { startConsoleGateway } from '../support/console-gateway.ts';
import { assertFits, DESK, openConsole, PHONE, routeRuns } from '../support/console-page.ts';
import { untilHolds } from '../support/eventually.ts';
import { syntheticCitation } from '../support/synthetic-run.ts';
import { patience } from '../support/time-limit.ts';

const QUESTION = 'How long do heat pumps last, and what shortens it?';
const CONTENT = `${'Installers report many different things about them. '.repeat(30)}The median heat pump was replaced after 17.5 years of service. ${'Maintenance records were kept by the utilities involved. '.repeat(30)}`;
const ANSWER = `# Heat pumps

Most heat pumps were replaced after 17.5 years of service [1].

| النوع | السنوات | API |
|---|---|---|
| هواء | ١٥ | منخفضة |
`;

const ITEMS = [
  {
    id: 'rs_1',
    type: 'reasoning',
    status: 'incomplete',
    content: [{ type: 'reasoning_text', text: '## First\n\n1. **Find** lifetimes\n2. Compare\n' }],
  },
  {
    id: 'tc_1',
    type: 'tool_call',
    name: 'fetch_url_content',
    arguments: JSON.stringify({ url: 'https://example.org/1' }),
    result: JSON.stringify({ url: 'https://example.org/1', title: 'Source number 1', content: CONTENT, source_id: 1 }),
    status: 'completed',
  },
];
const RUN = {
  id: 'resp_1',
  question: QUESTION,
  answer: ANSWER,
  items: ITEMS,
  annotations: [syntheticCitation(ANSWER, 1)],
  response: { incomplete_details: { reason: 'budget' } },
  // The thought is events 2 and 3.
  times: [
    [2, 1000],
    [9, 12_000],
  ],
};

describe('reading a report in the console', function () {
  // A browser and a gateway are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  before(async () => {
    browser = await sharedBrowser();
    gateway = await startConsoleGateway();
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  const open = async (viewport: { width: number; height: number }, run: Parameters<typeof routeRuns>[1][number]) => {
    const console = await openConsole(browser, { url: gateway.url, viewport });
    await routeRuns(console.page, [run]);
    await console.page.goto(`${gateway.url}/console/runs/${run.id}`);
    await console.page.getByRole('heading', { name: run.question }).waitFor();
    return console;
  };
  const boxOf = async (found: Locator) => {
    const box = await found.boundingBox();
    assert.ok(box);
    return box;
  };

  it('a report that was cut off is marked incomplete, with the reason, and starts on the first screen', async () => {
    await using console = await open(PHONE, RUN);
    const { page } = console;
    const words = page.getByText('Most heat pumps were replaced');
    await page.getByText('incomplete: budget used up', { exact: true }).waitFor();
    assert.equal(await page.getByText('completed', { exact: true }).count(), 0);
    await page.getByText('The research used up its budget').waitFor();
    for (const viewport of [PHONE, DESK]) {
      await page.setViewportSize(viewport);
      await words.waitFor();
      await untilHolds(async () => {
        const { y, height } = await boxOf(words);
        assert.ok(y + height < viewport.height, `the first sentence ends at ${y + height} px of ${viewport.height}`);
      });
    }
    // The first column of a right-to-left table is on the right.
    await untilHolds(async () => {
      const [first, second, last] = await Promise.all(
        ['النوع', 'السنوات', 'API'].map((name) => boxOf(page.getByRole('columnheader', { name, exact: true }))),
      );
      assert.ok(first && second && last && first.x > second.x && second.x > last.x);
    });
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByRole('link', { name: /^How long do heat pumps last.*incomplete: budget used up/s }).waitFor();
    await console.assertHarmless();
  });

  it('formulas are typeset and code is highlighted; what is neither stays as written', async () => {
    const answer = [
      'The sum is $\\frac{a}{b}$, for $5 to $6, and \\(x_1^2\\).',
      '$$\\sum_{i=1}^n \\text{<img src=x onerror=hit=1>} = \\sqrt{2}$$',
      'Unknown: $\\href{javascript:hit=1}{x_1}$',
      `$$${'\\frac{1}{'.repeat(7)}x${'}'.repeat(7)} + ${'x_1 + '.repeat(100)}y$$`,
      '```python\n# why\ndef f(x): return "</code><script>hit=1</script>"\n```',
    ].join('\n\n');
    await using console = await open(PHONE, { ...RUN, answer, annotations: [] });
    const { page } = console;
    await page.locator('math').nth(3).waitFor();
    assert.equal(await page.locator('math').count(), 4);
    assert.equal(await page.locator('math mfrac').first().textContent(), 'ab');
    await page.getByText('for $5 to $6, and').waitFor();
    await page.getByText('\\href{javascript:hit=1}{x_1}', { exact: true }).waitFor();
    await page.getByText('<img src=x onerror=hit=1>').waitFor();
    assert.equal(
      await page.evaluate(`getComputedStyle(document.querySelector('[data-code=comment]')).fontStyle`),
      'italic',
    );
    await assertFits(page);
    await console.assertHarmless();
  });

  it('a thought in Markdown is shown without its markup, and an interrupted one says after how long', async () => {
    await using console = await open(DESK, RUN);
    const { page } = console;
    const timeline = page.getByRole('complementary', { name: 'Timeline' });
    await timeline.getByRole('strong').filter({ hasText: 'Find' }).waitFor();
    assert.doesNotMatch(await timeline.innerText(), /\*\*|## /);
    await timeline.getByRole('button', { name: /Plan.*interrupted 11 s/s }).click();
    await timeline.getByRole('button', { name: /First Find lifetimes Compare/ }).waitFor();
    await console.assertHarmless();
  });

  it('the passage of a source starts and ends at whole words', async () => {
    await using console = await open(DESK, RUN);
    const { page } = console;
    await page
      .getByRole('button', { name: /^Source 1:/ })
      .first()
      .click();
    const passage = page.getByRole('dialog').getByRole('blockquote');
    const shown = (await passage.innerText()).trim();
    assert.match(shown, /^… \w[\s\S]*\. …$|^… \w[\s\S]*\w …$/);
    const words = new Set(CONTENT.split(/\s+/));
    assert.deepEqual(
      shown.split(/\s+/).filter((word) => word !== '…' && !words.has(word)),
      [],
    );
    assert.equal(
      await passage.locator('mark').innerText(),
      'The median heat pump was replaced after 17.5 years of service.',
    );
    await console.assertHarmless();
  });
});
