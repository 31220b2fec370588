import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import type { Gateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { startConsoleGateway } from '../support/console-gateway.ts';
import { openConsole, PHONE, signIn } from '../support/console-page.ts';
import { untilHolds } from '../support/eventually.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { patience } from '../support/time-limit.ts';

const ANN = 'sk-console-of-ann';
const BOB = 'sk-console-of-bob';
const QUESTION = 'How does a client resume a dropped stream?';

describe('URLs of the console', function () {
  // A browser and a gateway are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  let run: string;
  before(async () => {
    browser = await sharedBrowser();
    gateway = await startConsoleGateway({
      keys: [
        { id: 'ann', secret: ANN },
        { id: 'bob', secret: BOB },
      ],
    });
    run = await research(QUESTION);
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  /** The id of a finished run. */
  const research = async (input: string): Promise<string> => {
    const headers = { authorization: `Bearer ${ANN}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'deep', input, stream: false });
    const answer = await fetch(`${gateway.url}/v1/responses`, { method: 'POST', headers, body });
    return z.object({ id: z.string() }).parse(await answer.json()).id;
  };
  const open = (options: { viewport?: { width: number; height: number } } = {}) =>
    openConsole(browser, { url: gateway.url, secrets: [ANN, BOB], ...options });
  const untilTitle = (page: Page, title: string) =>
    untilHolds(async () => assert.equal(await page.title(), `${title} · research-gateway`));
  const heading = (page: Page, name: string | RegExp = QUESTION) => page.getByRole('heading', { name, level: 1 });

  it('the URL of a run shows it after sign-in and after a reload, with its title', async () => {
    await using console = await open({ viewport: PHONE });
    const { page } = console;
    await page.goto(`${gateway.url}/console/runs/${run}#tab=sources`);
    await signIn(page, ANN);
    await heading(page).waitFor();
    await untilTitle(page, QUESTION);
    assert.equal(await page.getByRole('banner').count(), 1, 'one header');
    await page.getByRole('tab', { name: /^Sources/, selected: true }).waitFor();
    await page.getByRole('tab', { name: /^Report/ }).click();
    await page
      .getByRole('button', { name: /^Source 1:/ })
      .first()
      .click();
    const source = await page.getByRole('dialog').getByRole('heading', { level: 2 }).innerText();
    await page.waitForURL(`${gateway.url}/console/runs/${run}#source=1`);
    await page.reload();
    await page.getByRole('dialog').getByRole('heading', { name: source }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.waitForURL(`${gateway.url}/console/runs/${run}`);
    // On a phone the tabs do not all fit: the selected one is scrolled into view.
    await page.goto(`${gateway.url}/console/runs/${run}#tab=log`);
    await page.reload();
    await untilHolds(async () => {
      const box = await page.getByRole('tab', { name: /^Log \d+/ }).boundingBox();
      assert.ok(box && box.x + box.width < PHONE.width - 15);
    });
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await heading(page, 'Runs').waitFor();
    await page.waitForURL(`${gateway.url}/console/runs`);
    await untilTitle(page, 'Runs');
    await page.goBack();
    await heading(page).waitFor();
    await console.assertHarmless();
  });

  it('a link opens in a new tab with the same sign-in', async () => {
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      await page.goto(`${gateway.url}/console/runs`);
      await signIn(page, ANN);
      const entry = page.getByRole('link', { name: /^How does a client/ });
      await entry.waitFor();
      const [other] = await Promise.all([context.waitForEvent('page'), entry.click({ modifiers: ['ControlOrMeta'] })]);
      await heading(other).waitFor();
      await other.waitForURL(`${gateway.url}/console/runs/${run}`);
      assert.equal(await heading(page, 'Runs').count(), 1, 'the list stays');
      // A tab that signed out asks for a key, even while other tabs are signed in.
      await other.getByRole('button', { name: 'Sign out' }).click();
      await other.getByLabel('API key').waitFor();
      await other.reload();
      await other.getByLabel('API key').waitFor();
    } finally {
      await context.close();
    }
  });

  it('the URL of a run shows nothing to the key of another user', async () => {
    await using console = await open();
    const { page } = console;
    await page.goto(`${gateway.url}/console/runs/${run}`);
    await signIn(page, BOB);
    await heading(page, 'This run does not exist').waitFor();
    await page.getByRole('link', { name: 'All runs' }).click();
    await page.getByText('No runs yet').waitFor();
    await console.assertHarmless();
  });

  it('a hostile URL opens nothing and runs nothing, and the page still works', async () => {
    await using console = await open();
    const { page } = console;
    await page.goto(`${gateway.url}/console`);
    await signIn(page, ANN);
    await heading(page, 'What do you want to know?').waitFor();
    for (const path of [`runs/${run}`, 'runs', `compare/${run}/${run}`]) {
      for (const text of HOSTILE_TEXTS) {
        const fragment = new URLSearchParams({ tab: text, source: text, q: text, status: text }).toString();
        await page.goto(`${gateway.url}/console/${path}#${fragment}`);
      }
    }
    await page.goto(`${gateway.url}/console/runs/${run}#tab=${'x'.repeat(10_000)}`);
    await heading(page).waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    await console.assertHarmless();
  });
});
