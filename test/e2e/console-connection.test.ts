import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import type { Gateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { startConsoleGateway } from '../support/console-gateway.ts';
import { askOn, openConsole, scrollToEnd, untilStatus } from '../support/console-page.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { untilHolds } from '../support/eventually.ts';
import { hang, type Script, type ScriptedProvider, startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

const QUESTION = 'How does a client resume a dropped stream?';
const OWN_KEY = 'sk-console-of-ann';

/** A turn that starts when the promise is resolved. */
const following = (promise: Promise<unknown>, script: Script): Script => ({
  ...script,
  steps: [{ do: 'until', promise }, ...script.steps],
});
const searchFor = (query: string) =>
  turn({ reasoning: 'I search.', toolCalls: [{ id: query, name: 'web_search', arguments: { queries: [query] } }] });
const ready = turn({ text: 'Ready.' });
const answer = turn({ text: 'It asks for the rest:\n\n- after the last event it has.\n' });

describe('the console over a bad connection', function () {
  // A browser and gateways are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  let provider: ScriptedProvider;
  const stack = new AsyncDisposableStack();
  before(async () => {
    browser = await sharedBrowser();
    provider = stack.use(await startScriptedProvider());
    gateway = stack.use(
      await startConsoleGateway({
        providers: { demo: { builtin: 'demo', pace_ms: 10 }, scripted: { base_url: provider.url } },
        models: {
          deep: { kind: 'research', routes: [{ provider: 'scripted', model: 'scripted' }] },
          demo: { kind: 'research', routes: [{ provider: 'demo', model: 'demo' }] },
        },
      }),
    );
  });
  after(() => stack.disposeAsync());

  /** The turns of the next run, in order. */
  const script = (...turns: Script[]) => {
    const left = [...turns];
    provider.respond = () => left.shift() ?? turn();
  };

  const seen = (page: Page) => page.getByRole('tab', { name: /^Log \d+/ }).innerText();
  const eventsSeen = async (page: Page) => Number((await seen(page)).replace(/\D/g, ''));

  it('a reload in the middle of a run returns to the run, which completes', async () => {
    const reloaded = Promise.withResolvers<void>();
    script(searchFor('stream'), following(reloaded.promise, ready), answer);
    await using console = await openConsole(browser, { url: gateway.url });
    const { page } = console;
    await page.goto(gateway.url);
    await askOn(page, QUESTION);
    await page.locator('.entry[data-kind=call]').first().waitFor();
    await page.reload();
    await page.getByRole('heading', { name: QUESTION }).waitFor();
    await page.locator('.entry[data-kind=call]').first().waitFor();
    await untilStatus(page, 'in_progress');
    reloaded.resolve();
    await untilStatus(page, 'completed');
    await page.locator('.prose li').first().waitFor();
    await console.assertHarmless();
  });

  it('a cut connection is reported, reconnects by itself and misses no event', async () => {
    const [away, back] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    script(searchFor('stream'), following(away.promise, searchFor('end')), following(back.promise, ready), answer);
    const asked = provider.requests.length;
    await using proxy = await startCuttableProxy(gateway);
    await using console = await openConsole(browser, { url: proxy.url });
    const { page } = console;
    await page.goto(proxy.url);
    await askOn(page, QUESTION);
    await page.locator('.entry[data-kind=call]').first().waitFor();
    proxy.cut();
    await page.getByText('Connection lost').waitFor();
    const before = await eventsSeen(page);
    away.resolve();
    // The run goes on meanwhile.
    await provider.waitForRequest(asked + 3);
    proxy.restore();
    // It may also be back by itself.
    const retry = page.getByRole('button', { name: 'Retry now' });
    await retry.click({ timeout: 2000 }).catch(() => {});
    await page.getByText('Reconnected').waitFor();
    await page.getByRole('complementary', { name: 'Timeline' }).getByText('end (').waitFor();
    back.resolve();
    await untilStatus(page, 'completed');
    await page.locator('.prose li').first().waitFor();
    await untilHolds(async () => assert.ok((await eventsSeen(page)) > before));
    await page.getByRole('tab', { name: /^Log/ }).click();
    await scrollToEnd(page.locator('.log .virtual'), page.locator('.log-row', { hasText: /^\d+completed/ }));
    await console.assertHarmless();
  });

  it('the page follows only the run that is open, and keeps no connection for others', async () => {
    const headers = { authorization: 'Bearer sk-local', 'content-type': 'application/json' };
    for (let n = 0; n < 8; n += 1) {
      const body = JSON.stringify({
        model: 'demo',
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
    script(searchFor('stream'), hang());
    await using console = await openConsole(browser, { url: gateway.url });
    const { page } = console;
    await page.goto(gateway.url);
    await askOn(page, QUESTION);
    await page.locator('.entry[data-kind=call]').first().waitFor();
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
    const asked = page.waitForResponse(/admin\/overview/);
    await enterKey(page, OWN_KEY);
    await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    // The page asks whether the key may operate the gateway.
    assert.equal((await asked).status(), 404);
    await page.getByRole('link', { name: 'Documents' }).waitFor();
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
