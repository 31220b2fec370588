import assert from 'node:assert/strict';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { Gateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { startConsoleGateway } from '../support/console-gateway.ts';
import { assertFits, DESK, openConsole, PHONE, routeRuns } from '../support/console-page.ts';
import { untilHolds } from '../support/eventually.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { syntheticCitation } from '../support/synthetic-run.ts';
import { patience } from '../support/time-limit.ts';

const QUESTION = 'How long do heat pumps last?';
const WORDS = 'The median heat pump was replaced after 17.5 years of service.';
const filler = (what: string) => `${`${what} is written about at some length here. `.repeat(60)}\n\n`;
const ANSWER = `# Heat pumps

They last 17.5 years on average [1]. Salt shortens that [2], and so does cycling [3]. Some are older [4].

## What shortens it

${filler('Wear')}
### Sizing

${filler('Size')}
## Costs

${filler('Money')}`;
const FOUND = [1, 2, 3, 4].map((n) => ({
  title: `Source number ${n}`,
  url: `https://example.org/${n}`,
  snippet: 'What the search shows.',
  published: `2025-03-0${n}${n === 1 ? 'T08:30:00.000Z' : ''}`,
  source_id: n,
}));
const RUN = {
  id: 'resp_1',
  question: QUESTION,
  answer: ANSWER,
  items: [
    {
      id: 'tc_1',
      type: 'tool_call',
      name: 'web_search',
      arguments: '{"queries":["heat pumps"]}',
      result: JSON.stringify({ results: FOUND }),
      status: 'completed',
    },
  ],
  annotations: [
    syntheticCitation(ANSWER, 1, { cited_text: WORDS, support: 'quoted' }),
    syntheticCitation(ANSWER, 2, { cited_text: 'Salt air corrodes the coils.', support: 'partial' }),
    syntheticCitation(ANSWER, 3, { support: 'none' }),
    syntheticCitation(ANSWER, 4, { cited_text: 'Some are older.', support: 'partial' }),
  ],
  response: { claims: { checked: 40, quoted: 36, partial: 3, none: 1, unchecked: 0, unmarked: 2 } },
};

describe('citations, claims and the outline of a report', function () {
  // A browser and a gateway are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  before(async () => {
    browser = await sharedBrowser();
    gateway = await startConsoleGateway();
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  const open = async (options: BrowserContextOptions, run: Parameters<typeof routeRuns>[1][number] = RUN) => {
    const console = await openConsole(browser, { url: gateway.url, ...options });
    await routeRuns(console.page, [run]);
    await console.page.goto(`${gateway.url}/console/runs/${run.id}`);
    await console.page.getByRole('button', { name: /^Source 1:/ }).waitFor();
    return console;
  };

  it('hovering over a citation shows the words of its source, their date, and how well they support it', async () => {
    await using console = await open({ viewport: DESK });
    const { page } = console;
    const card = page.getByRole('tooltip');
    await page.getByRole('button', { name: 'Source 1: Source number 1', exact: true }).hover();
    await untilHolds(async () =>
      assert.match(await card.innerText(), /17\.5 years of service[\s\S]*Source number 1[\s\S]*2025-03-01\s+quoted/),
    );
    // The pointer can move onto the card, so its text can be selected.
    await card.getByText('Source number 1').hover();
    assert.equal(await card.count(), 1);
    await page.keyboard.press('Escape');
    await card.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Source 3: Source number 3 (not found)' }).hover();
    await card.getByText('No matching words were found in this source.').waitFor();
    await page.getByRole('heading', { name: QUESTION }).hover();
    await card.waitFor({ state: 'detached' });
    await console.assertHarmless();
  });

  it('focusing a citation shows the same, and the claim counts move the focus to the doubtful ones', async () => {
    await using console = await open({ viewport: DESK });
    const { page } = console;
    const claims = page.getByRole('group', { name: 'Claims' });
    await untilHolds(async () =>
      assert.equal(await claims.innerText(), '42 claims, 36 quoted, 3 partial, 1 not found, 2 without a source'),
    );
    await claims.getByRole('button', { name: '3 partial' }).focus();
    await page.keyboard.press('Enter');
    const focused = page.locator(':focus');
    await untilHolds(async () =>
      assert.equal(await focused.getAttribute('aria-label'), 'Source 2: Source number 2 (partial)'),
    );
    const card = page.getByRole('tooltip');
    await card.getByText('Salt air corrodes the coils.').waitFor();
    await card.getByText('The source says a part of this.').waitFor();
    await untilHolds(async () =>
      assert.equal(await focused.getAttribute('aria-describedby'), await card.getAttribute('id')),
    );
    await page.keyboard.press('Tab');
    await card.getByText('What was read of this source does not say this.').waitFor();
    await claims.getByRole('button', { name: '3 partial' }).press('Enter');
    await untilHolds(async () =>
      assert.equal(await focused.getAttribute('aria-label'), 'Source 4: Source number 4 (partial)'),
    );
    await console.assertHarmless();
  });

  it('tapping a citation on a phone opens the source at the cited words', async () => {
    await using console = await open({ viewport: PHONE, hasTouch: true, isMobile: true });
    const { page } = console;
    await page.getByRole('button', { name: 'Source 1: Source number 1', exact: true }).tap();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(WORDS).waitFor();
    await untilHolds(async () =>
      assert.match(
        await dialog.innerText(),
        /2025-03-01[\s\S]*They last 17.5 years on average[\s\S]*The source says\s+quoted/,
      ),
    );
    await dialog.getByRole('button', { name: 'Close' }).tap();
    await dialog.waitFor({ state: 'detached' });
    // The sentence is shown without the numbers of other citations.
    await page.getByRole('button', { name: /^Source 3:/ }).tap();
    await dialog.getByText('Salt shortens that, and so does cycling', { exact: true }).waitFor();
    await console.assertHarmless();
  });

  it('the outline follows the scroll position, jumps to sections, and is reflected in the URL', async () => {
    await using console = await open({ viewport: DESK });
    const { page } = console;
    const outline = page.getByRole('navigation', { name: 'Contents' });
    const untilCurrent = (name: string) => outline.locator('[aria-current]').getByText(name, { exact: true }).waitFor();
    await untilHolds(async () =>
      assert.deepEqual(await outline.getByRole('link').allInnerTexts(), [
        'Heat pumps',
        'What shortens it',
        'Sizing',
        'Costs',
      ]),
    );
    await untilCurrent('Heat pumps');
    await page.getByRole('heading', { name: 'Sizing' }).evaluate((heading) => heading.scrollIntoView());
    await untilCurrent('Sizing');
    await outline.getByRole('link', { name: 'What shortens it' }).press('Enter');
    await untilCurrent('What shortens it');
    await page.waitForURL(`${gateway.url}/console/runs/resp_1#part=1`);
    await page.reload();
    await untilCurrent('What shortens it');
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('slider', { name: 'Event' }).press('Home');
    await outline.waitFor({ state: 'detached' });
    await console.assertHarmless();
  });

  it('the outline opens above the report on a phone', async () => {
    await using console = await open({ viewport: PHONE });
    const { page } = console;
    const part = page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Costs' });
    const contents = page.getByText('Contents', { exact: true }).filter({ visible: true });
    await contents.waitFor();
    assert.equal(await part.count(), 0);
    await contents.click();
    await part.click();
    const heading = page.getByRole('heading', { name: 'Costs' });
    await untilHolds(async () => assert.ok(((await heading.boundingBox())?.y ?? 1e9) < PHONE.height));
    await console.assertHarmless();
  });

  it('copying text from a report includes its citations', async () => {
    await using console = await open({ viewport: DESK, permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = console;
    await page.getByText('They last 17.5 years on average').selectText();
    await page.keyboard.press('ControlOrMeta+c');
    let copied = '';
    await untilHolds(async () => {
      copied = String(await page.evaluate('navigator.clipboard.readText()'));
      assert.match(
        copied,
        /^They last 17.5 years on average \[1\]\. Salt shortens that \[2\], and so does cycling \[3\]\. Some are older \[4\]\./,
      );
    });
    assert.match(copied, /\n\n\[1\] Source number 1\. https:\/\/example\.org\/1\n\[2\] Source number 2\./);
    await console.assertHarmless();
  });

  it('hostile quotes, titles, dates, headings and counts are shown as text, and the page fits', async () => {
    const answer = HOSTILE_TEXTS.map((text, at) => `## ${text.replaceAll('\n', ' ')}\n\nClaim [${at + 1}].`).join(
      '\n\n',
    );
    const long = 'w'.repeat(300);
    const annotations = HOSTILE_TEXTS.map((text, at) =>
      syntheticCitation(answer, at + 1, {
        title: at % 2 ? text : `\u{202e}${long}`,
        url: `https://example.org/${at}`,
        cited_text: at % 2 ? text : `\u{202e}\u{2066}${long}`,
        support: ['quoted', 'partial', 'none', 'unchecked', text][at % 5],
      }),
    );
    const results = HOSTILE_TEXTS.map((text, at) => ({
      title: text,
      url: `https://example.org/${at}`,
      published: text,
      source_id: at + 1,
    }));
    const items = [{ ...RUN.items[0], result: JSON.stringify({ results }) }];
    const claims = { checked: 9, quoted: 1, partial: 2, none: 3, unchecked: 4, unmarked: 5 };
    await using console = await open({ viewport: PHONE }, { ...RUN, answer, items, annotations, response: { claims } });
    const { page } = console;
    const citations = page.getByRole('button', { name: /^Source \d+:/ });
    for (let at = 0; at < HOSTILE_TEXTS.length; at += 1) {
      await citations.nth(at).focus();
      // The card before it may still be there.
      await citations.nth(at).and(page.locator('[aria-describedby]')).waitFor();
      await page.getByRole('tooltip').waitFor();
    }
    await assertFits(page);
    await console.assertHarmless();
  });
});
