import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import type { Gateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { startConsoleGateway } from '../support/console-gateway.ts';
import { askOn, openConsole, untilStatus } from '../support/console-page.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { patience } from '../support/time-limit.ts';

const QUESTION = 'How does a client resume a dropped stream?';
const OWN_KEY = 'sk-console-of-ann';

describe('the console over a bad connection', function () {
  // A browser and gateways are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  before(async () => {
    browser = await sharedBrowser();
    gateway = await startConsoleGateway({ providers: { demo: { builtin: 'demo', pace_ms: 10 } } });
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  const seen = (page: Page) => page.getByRole('tab', { name: /^Log \d+/ }).innerText();
  const eventsSeen = async (page: Page) => Number((await seen(page)).replace(/\D/g, ''));

  it('a reload in the middle of a run returns to the run, which completes', async () => {
    await using console = await openConsole(browser, { url: gateway.url });
    const { page } = console;
    await page.goto(gateway.url);
    await askOn(page, QUESTION);
    await page.locator('.entry[data-kind=call]').first().waitFor();
    await page.reload();
    await page.getByRole('heading', { name: QUESTION }).waitFor();
    await page.locator('.entry[data-kind=call]').first().waitFor();
    await untilStatus(page, 'completed');
    await page.locator('.prose li').first().waitFor();
    await console.assertHarmless();
  });

  it('a cut connection is reported, reconnects by itself and misses no event', async () => {
    await using proxy = await startCuttableProxy(gateway);
    await using console = await openConsole(browser, { url: proxy.url });
    const { page } = console;
    await page.goto(proxy.url);
    await askOn(page, QUESTION);
    await page.locator('.entry[data-kind=call]').first().waitFor();
    proxy.cut();
    await page.getByText('Connection lost').waitFor();
    const before = await eventsSeen(page);
    // It is shown for a moment only.
    const again = page.getByText('Reconnected').waitFor();
    proxy.restore();
    await page
      .getByRole('button', { name: 'Retry now' })
      .click({ timeout: 2000 })
      .catch(() => {});
    await again;
    await untilStatus(page, 'completed');
    await page.locator('.prose li').first().waitFor();
    assert.ok((await eventsSeen(page)) > before);
    await page.getByRole('tab', { name: /^Log/ }).click();
    await page.evaluate(`document.querySelector('.log .virtual').scrollTo(0, 1e9)`);
    await page.locator('.log-row', { hasText: /^\d+completed/ }).waitFor();
    await console.assertHarmless();
  });

  it('the page follows only the run that is open, and keeps no connection for others', async () => {
    const headers = { authorization: 'Bearer sk-local', 'content-type': 'application/json' };
    for (let n = 0; n < 8; n += 1) {
      const body = JSON.stringify({
        model: 'deep',
        input: `${QUESTION} ${n}`,
        background: true,
        metadata: { title: `Run ${n}` },
      });
      await fetch(`${gateway.url}/v1/responses`, { method: 'POST', headers, body });
    }
    await using console = await openConsole(browser, { url: gateway.url });
    const { page } = console;
    await page.goto(gateway.url);
    // Browsers open six connections to one address: with a seventh run the page would stand still.
    for (let n = 7; n >= 0; n -= 1) {
      await page.getByRole('link', { name: 'Runs', exact: true }).click();
      await page.locator('.entry-open', { hasText: `Run ${n}` }).click();
      await page.getByRole('heading', { name: `${QUESTION} ${n}` }).waitFor();
      await page.locator('.entry').first().waitFor();
    }
    await untilStatus(page, 'completed');
    await page.goBack();
    await page.goBack();
    await untilStatus(page, 'completed');
    await page.locator('.prose li').first().waitFor();
    await console.assertHarmless();
  });

  it('a run can be stopped, and the page says so', async () => {
    await using console = await openConsole(browser, { url: gateway.url });
    const { page } = console;
    await page.goto(gateway.url);
    await askOn(page, QUESTION);
    await page.locator('.entry').first().waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await untilStatus(page, 'cancelled');
    await page.getByText('The run was stopped.').waitFor();
    await console.assertHarmless();
  });

  it('an unreachable gateway is reported in words, and the question can be sent again', async () => {
    await using proxy = await startCuttableProxy(gateway);
    await using console = await openConsole(browser, { url: proxy.url });
    const { page } = console;
    await page.goto(proxy.url);
    await page.getByLabel('Question', { exact: true }).fill(QUESTION);
    proxy.cut();
    await page.getByRole('button', { name: 'Research', exact: true }).click();
    await page.getByRole('alert').getByText('The gateway cannot be reached.').waitFor();
    proxy.restore();
    await page.getByRole('button', { name: 'Research', exact: true }).click();
    await page.locator('.run').waitFor();
    await console.assertHarmless();
  });
});

describe('signing in to the console', function () {
  // A browser and gateways are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  before(async () => {
    browser = await sharedBrowser();
    gateway = await startConsoleGateway({ keys: [{ id: 'ann', secret: OWN_KEY }] });
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  const enterKey = async (page: Page, key: string) => {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };

  it('works in a browser that lets no page store anything', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.addInitScript(`for (const name of ['localStorage', 'sessionStorage'])
      Object.defineProperty(globalThis, name, { get() { throw new DOMException('Denied', 'SecurityError'); } })`);
    await page.goto(gateway.url);
    await enterKey(page, OWN_KEY);
    await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    await page.getByRole('button', { name: 'Theme: auto' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    await context.close();
  });

  it('asks for a key, refuses a wrong one in words, and keeps a valid one for this tab or not at all', async () => {
    await using console = await openConsole(browser, { url: gateway.url, secrets: [OWN_KEY] });
    const { page } = console;
    await page.goto(gateway.url);
    assert.equal(await page.getByLabel('API key').inputValue(), '');
    await enterKey(page, 'sk-wrong');
    await page.getByRole('alert').getByText('not known to this gateway').waitFor();
    await enterKey(page, OWN_KEY);
    await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Operate' }).count(), 0);
    await page.reload();
    await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    assert.equal(await page.evaluate(`JSON.stringify({ ...localStorage })`), '{}');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    assert.doesNotMatch(String(await page.evaluate(`JSON.stringify({ ...sessionStorage })`)), /sk-/);
    await page.getByLabel('Remember it until this tab is closed').uncheck();
    await enterKey(page, OWN_KEY);
    await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    assert.doesNotMatch(String(await page.evaluate(`JSON.stringify({ ...sessionStorage })`)), /sk-/);
    await page.reload();
    await page.getByLabel('API key').waitFor();
    await console.assertHarmless();
  });
});
