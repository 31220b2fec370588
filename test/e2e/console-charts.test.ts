import assert from 'node:assert/strict';
import { sharedBrowser } from '../support/browser.ts';
import { chart, fenced } from '../support/charts.ts';
import { openConsole, signIn } from '../support/console-page.ts';
import { untilHolds } from '../support/eventually.ts';
import { KEYS } from '../support/http-gateway.ts';
import { fetchDocument, openResearchGateway } from '../support/research-gateway.ts';
import { patience } from '../support/time-limit.ts';

const HOSTILE = '<img src=x onerror="globalThis.hit = 1">';
const LAKES = 'Lake Baikal is 1642 metres deep. Lake Tanganyika is 1470 metres deep.';
const ANSWER = `The lakes are 1642 and 1470 metres deep [1].\n\n${fenced(chart({ title: HOSTILE }))}\nMore.`;

describe('charts in a browser', function () {
  // A browser and a gateway are started.
  this.timeout(patience(30));

  it('are drawn in the console and the HTML report if the run enabled them, and stay code otherwise', async () => {
    await using gateway = await openResearchGateway({
      documents: { 'lakes.md': `# Lakes\n\n${LAKES}\n` },
      model: ({ research, text }) => {
        if (!research) return { text: ANSWER };
        return text.includes('1642') ? { text: 'Ready.' } : { toolCalls: [fetchDocument('lakes.md')] };
      },
    });
    const drawn = await gateway.respond({
      input: 'How deep?',
      research: { charts: true },
      metadata: { title: 'Drawn' },
    });
    assert.equal(drawn.charts, true);
    await gateway.respond({ input: 'How deep?', metadata: { title: 'Code' } });
    const report = await fetch(`${gateway.url}/v1/responses/${drawn.id}/report?format=html`, {
      headers: { authorization: `Bearer ${KEYS.ann}` },
    });
    assert.match(await report.text(), /<figure><svg [\s\S]*Tanganyika[\s\S]*<\/figure>/);

    await using console = await openConsole(await sharedBrowser(), { url: gateway.url, secrets: [KEYS.ann] });
    const { page } = console;
    await page.goto(`${gateway.url}/console`);
    await signIn(page, KEYS.ann);
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.locator('.entry-open').filter({ hasText: 'Drawn' }).click();
    const svg = page.locator('.prose figure svg[role=img]');
    await svg.waitFor();
    assert.equal(await svg.locator('> title').textContent(), HOSTILE);
    assert.equal(await svg.locator('rect').count(), 2);
    await untilHolds(async () => {
      const box = await svg.boundingBox();
      assert.ok(box && box.width > 300 && box.height > 150, 'it has a size');
    });
    await console.assertHarmless();
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.locator('.entry-open').filter({ hasText: 'Code' }).click();
    await page.locator('.prose pre').getByText('"mark":"bar"').waitFor();
    assert.equal(await page.locator('.prose svg').count(), 0);
    await console.assertHarmless();
  });
});
