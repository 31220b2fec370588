import assert from 'node:assert/strict';
import { text as readAll } from 'node:stream/consumers';
import type { Browser, Locator, Page } from 'playwright-core';
import type { Gateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { startConsoleGateway } from '../support/console-gateway.ts';
import { assertFits, confirm, openConsole, PHONE, routeRuns, signIn, untilFocused } from '../support/console-page.ts';
import { eventually, untilHolds } from '../support/eventually.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { patience } from '../support/time-limit.ts';

const BOSS = 'sk-console-of-the-boss';
const ANN = 'sk-console-of-ann';

describe('operating in the console', function () {
  // A browser and a gateway are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  before(async () => {
    browser = await sharedBrowser();
    gateway = await startConsoleGateway({
      keys: [
        { id: 'boss', secret: BOSS, admin: true, limits: { requests_per_minute: 1000 } },
        { id: 'ann', secret: ANN },
      ],
      teams: { sales: { limits: { cost_per_month: 200 } } },
    });
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  const open = async (path: string, options: Partial<Parameters<typeof openConsole>[1]> = {}, key = BOSS) => {
    const console = await openConsole(browser, { url: gateway.url, secrets: [BOSS, ANN], ...options });
    await console.page.goto(`${gateway.url}/console/${path}`);
    await signIn(console.page, key);
    return console;
  };
  const status = async (key: string) =>
    (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
  const keyNamed = (page: Page, id: string) =>
    page.getByRole('listitem').filter({ has: page.getByRole('button', { name: new RegExp(`^${id}\\b`) }) });
  const secretIn = async (shown: Locator) => (await shown.getByRole('code').innerText()).trim();

  it('a key can be created, changed, rotated and revoked, and its secret is shown once', async () => {
    const id = 'reader';
    await using console = await open('operate/keys', {
      viewport: PHONE,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const { page } = console;
    await page.getByRole('button', { name: 'New key' }).click();
    const form = page.getByRole('form', { name: 'New key' });
    await form.getByLabel('Id').fill(id);
    await form.getByLabel('Team').fill('no such team');
    await form.getByRole('button', { name: 'Create key' }).click();
    await form.getByRole('alert').getByText('field team').waitFor();
    await form.getByLabel('Team').fill('sales');
    await form.getByLabel('Requests per minute').fill('50');
    await form.getByLabel('Bring MCP servers').check();
    await form.getByRole('button', { name: 'Create key' }).click();
    const shown = page.getByRole('group', { name: 'New secret' });
    const secret = await secretIn(shown);
    await shown.getByRole('button', { name: 'Copy secret' }).click();
    await shown.getByRole('button', { name: 'Copied' }).waitFor();
    await untilHolds(async () => assert.equal(await page.evaluate('navigator.clipboard.readText()'), secret));
    assert.equal(await status(secret), 200);
    await assertFits(page);
    await shown.getByRole('button', { name: 'I have saved it' }).click();
    await shown.waitFor({ state: 'detached' });
    assert.ok(!(await page.content()).includes(secret), 'the secret is nowhere in the page');

    const key = keyNamed(page, id);
    await key.getByRole('button', { name: new RegExp(`^${id}`) }).click();
    await untilHolds(async () =>
      assert.match(await key.innerText(), /team sales[\s\S]*[01] of 50[\s\S]*team cost per month[\s\S]*0 of 200/),
    );
    await key.getByLabel('Access to').selectOption('deep');
    const explained = key.getByText('allowed', { exact: true });
    await explained.waitFor();
    await page.route('**/explain?*', (route) => route.fulfill({ status: 503, json: { error: { message: 'Away.' } } }));
    await key.getByRole('button', { name: 'Change' }).click();
    await key.getByRole('spinbutton', { name: 'Requests per minute' }).fill('70');
    await key.getByLabel('Models').fill('deep');
    const [patch] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === 'PATCH'),
      key.getByRole('button', { name: 'Save' }).click(),
    ]);
    assert.deepEqual(patch.postDataJSON(), { models: ['deep'], limits: { requests_per_minute: 70 } });
    await key.getByText(/of 70/).waitFor();
    await key.getByText('may use deep').waitFor();
    await key.getByText('Away.').waitFor();
    assert.equal(await explained.count(), 0, 'what the key got before its change is not shown');

    await key.getByLabel('The old secret').selectOption('works for a day');
    await key.getByRole('button', { name: 'Rotate' }).click();
    const rotated = await secretIn(shown);
    assert.notEqual(rotated, secret);
    assert.deepEqual([await status(secret), await status(rotated)], [200, 200]);
    await shown.getByRole('button', { name: 'I have saved it' }).click();
    await key.getByText('the old secret works until').waitFor();

    await confirm(key, { name: 'Revoke', question: 'Revoke permanently?' });
    await key.waitFor({ state: 'detached' });
    assert.equal(await status(rotated), 401);
    await page.getByRole('link', { name: 'Audit' }).click();
    const lines = page.getByRole('row').filter({ hasText: id });
    await untilHolds(async () =>
      assert.match(
        (await lines.allInnerTexts()).join('\n'),
        /key.deleted[\s\S]*key.rotated[\s\S]*key.updated[\s\S]*key.created/,
      ),
    );
    await assertFits(page);
    await page.reload();
    await lines.first().waitFor();
    await console.assertHarmless();
  });

  it('the new secret of the page’s own key stays on the page until the user has saved it', async () => {
    const made = await fetch(`${gateway.url}/admin/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'own', admin: true }),
    });
    const { secret } = (await made.json()) as { secret: string };
    await using console = await open('operate/keys', {}, secret);
    const { page } = console;
    const key = keyNamed(page, 'own');
    await key.getByRole('button', { name: /^own/ }).click();
    await key.getByLabel('The old secret').selectOption('stops working at once');
    // Simulates a hidden tab, where animation frames are late.
    await page.evaluate('globalThis.requestAnimationFrame = () => 0');
    await key.getByRole('button', { name: 'Rotate' }).click();
    const shown = page.getByRole('group', { name: 'New secret' });
    await key.getByRole('alert').getByText('The API key is not known').waitFor();
    assert.equal(await status(await secretIn(shown)), 200);
    await shown.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });

  it('usage is shown as bars and a table, grouped as chosen, and downloads as CSV', async () => {
    const headers = { authorization: `Bearer ${ANN}`, 'content-type': 'application/json', 'x-tag': 'nightly' };
    const body = JSON.stringify({ model: 'deep', input: 'How is a dropped stream resumed?', stream: false });
    await (await fetch(`${gateway.url}/v1/responses`, { method: 'POST', headers, body })).text();
    // A run is counted a moment after its client has the answer, and the page reads the counts once.
    await eventually('the run is counted', async () => {
      const usage = await fetch(`${gateway.url}/admin/usage?group_by=tag`, {
        headers: { authorization: `Bearer ${BOSS}` },
      });
      return (await usage.text()).includes('nightly');
    });
    await using console = await open('operate/usage');
    const { page } = console;
    await page.getByRole('img', { name: /^Requests by day from .* \d+ at most$/ }).waitFor();
    await page.getByRole('cell', { name: 'deep' }).waitFor();
    await page.getByLabel('key', { exact: true }).check();
    await page.getByLabel('tag').check();
    await page.getByLabel('model').uncheck();
    await page.getByRole('row', { name: /^ann nightly/ }).waitFor();
    await page.getByRole('combobox', { name: /^By day/ }).selectOption('tokens');
    await page.getByRole('img', { name: /^Tokens by day/ }).waitFor();
    await page.waitForURL(`${gateway.url}/console/operate/usage#by=key%2Ctag&show=tokens`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ]);
    assert.match(await readAll(await download.createReadStream()), /^key,tag,requests,[\s\S]*\r\nann,nightly,/);
    await page.reload();
    await page.getByRole('row', { name: /^ann nightly/ }).waitFor();
    await page.getByLabel('From', { exact: true }).fill('2020-01-01');
    await page.getByRole('alert').getByText('field from').waitFor();
    await assertFits(page);
    await console.assertHarmless();
  });

  it('keys and configuration of the file are shown without secrets, with what a key may use', async () => {
    await using console = await open('operate/keys');
    const key = keyNamed(console.page, 'boss');
    await key.getByRole('button', { name: /^boss/ }).click();
    await key.getByText('change it there').waitFor();
    await key.getByText('requests per minute').waitFor();
    await key.getByText(/\d of 1,000/).waitFor();
    assert.equal(await key.getByRole('button', { name: 'Revoke' }).count(), 0);
    await key.getByLabel('Access to').selectOption('deep');
    await key.getByText('allowed', { exact: true }).waitFor();
    await key.getByRole('row', { name: /^1 demo demo built in no credential/ }).waitFor();
    await key.getByText(/^Tools: web_search by local/).waitFor();
    assert.doesNotMatch(await console.page.locator('main').innerText(), /sk-/);
    const { page } = console;
    await page.getByRole('link', { name: 'Configuration' }).click();
    await page.getByRole('group').filter({ hasText: 'deep' }).first().waitFor();
    await page.getByText('keys', { exact: true }).click();
    await page.getByText('***').first().waitFor();
    assert.doesNotMatch(await page.locator('main').innerText(), /sk-/);
    await assertFits(page);
    await page.reload();
    await page.getByRole('heading', { name: 'Configuration' }).waitFor();
    await console.assertHarmless();
  });

  it('a key without admin rights is told so, and the page requests nothing from /admin', async () => {
    await using console = await open('operate', {}, ANN);
    const { page } = console;
    const paths: string[] = [];
    page.on('request', (request) => paths.push(new URL(request.url()).pathname));
    await page.getByRole('heading', { name: 'No access with this key' }).waitFor();
    for (const view of ['operate', 'operate/keys', 'operate/usage', 'operate/config', 'operate/audit']) {
      await page.goto(`${gateway.url}/console/${view}`);
      await page.getByRole('heading', { name: 'No access with this key' }).waitFor();
      assert.equal(await page.getByRole('link', { name: 'Operate' }).count(), 0);
    }
    assert.deepEqual(
      paths.filter((path) => /^\/admin\/(keys|usage|config|audit)/.test(path)),
      [],
    );
    await console.assertHarmless();
  });

  it('the keyboard alone creates a key and copies its secret', async () => {
    await using console = await open('operate/keys', { permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = console;
    await page.getByRole('button', { name: 'New key' }).press('Enter');
    await untilFocused(page, page.getByLabel('Id'));
    await page.keyboard.type('by-keyboard');
    await page.keyboard.press('Enter');
    const shown = page.getByRole('group', { name: 'New secret' });
    const secret = await secretIn(shown);
    await untilFocused(page, shown);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await shown.getByRole('button', { name: 'Copied' }).waitFor();
    await untilHolds(async () => assert.equal(await page.evaluate('navigator.clipboard.readText()'), secret));
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await shown.waitFor({ state: 'detached' });
    await console.assertHarmless();
  });

  it('the webhook deliveries of a run are shown, and can be sent again', async () => {
    const delivery = {
      id: 'whd_resp_1_request',
      run: 'resp_1',
      receiver: 'request',
      url: 'https://example.com/hooks',
      event: { id: 'evt_1', type: 'response.completed' },
      status: 'failed',
      attempts: [
        { created_at: 1_763_900_000, status_code: 503, error: null },
        { created_at: 1_763_900_005, status_code: null, error: 'timeout' },
      ],
      next_attempt_at: null,
    };
    await using console = await open('runs');
    const { page } = console;
    let current = delivery;
    await routeRuns(page, [{ id: 'resp_1', question: 'What is tea?', answer: 'Leaves.' }]);
    await page.route('**/v1/webhook_deliveries?run=resp_1', (route) => route.fulfill({ json: { data: [current] } }));
    await page.route('**/v1/webhook_deliveries/*/redeliver', (route) => {
      current = { ...delivery, status: 'delivered' };
      return route.fulfill({ json: current });
    });
    await page.goto(`${gateway.url}/console/runs/resp_1`);
    await page.getByRole('tab', { name: 'Deliveries 1' }).click();
    const panel = page.getByRole('tabpanel');
    await untilHolds(async () =>
      assert.match(await panel.innerText(), /failed[\s\S]*response\.completed[\s\S]*answered 503[\s\S]*timeout/),
    );
    await panel.getByRole('button', { name: 'Send again' }).click();
    await panel.getByText('delivered').waitFor();
    await console.assertHarmless();
  });

  it('hostile ids, names, tags, actions and receivers are shown as text, and the page fits', async () => {
    const texts = [...HOSTILE_TEXTS, `\u{202e}${'w'.repeat(300)}`];
    const keys = texts.map((text, at) => ({
      object: 'key',
      id: text,
      source: at % 2 ? 'store' : 'file',
      user: text,
      team: text,
      tags: [text],
      models: [text],
      allow_from: [text],
      expires_at: text,
      created_at: 1,
      rotated_until: 2,
      limits: {},
      used: [{ name: text, limit: 5, used: 3 }],
    }));
    const row = { requests: 1, errors: 0, input_tokens: 1, cached_tokens: 0, output_tokens: 1, cost: 0.5 };
    const usage = texts.map((text) => ({ ...row, model: text, day: '2026-11-24' }));
    const audit = texts.map((text, at) => ({
      id: String(at),
      time: 1,
      action: text,
      by: text,
      target: text,
      address: text,
      detail: text,
    }));
    const attempts = [{ created_at: 1, status_code: null, error: texts.join() }];
    const deliveries = texts.map((text, at) => ({
      id: String(at),
      receiver: text,
      url: text,
      event: { id: text, type: text },
      status: text,
      attempts,
      next_attempt_at: 1,
    }));
    await using console = await open('runs', { viewport: PHONE });
    const { page } = console;
    await routeRuns(page, [{ id: 'resp_1', question: 'What is tea?', answer: 'Leaves.' }]);
    await page.route('**/admin/keys?*', (route) => route.fulfill({ json: { data: keys, has_more: false } }));
    await page.route('**/admin/keys/**', (route) => route.fulfill({ json: keys[1] }));
    await page.route('**/admin/usage?*', (route) =>
      route.fulfill({ json: { data: usage, currency: texts[0], from: '2026-11-01', to: '2026-11-24' } }),
    );
    await page.route('**/admin/audit?*', (route) => route.fulfill({ json: { data: audit, has_more: false } }));
    await page.route('**/v1/webhook_deliveries?*', (route) => route.fulfill({ json: { data: deliveries } }));
    await page.goto(`${gateway.url}/console/operate/keys`);
    const heads = page.getByRole('listitem').getByRole('button', { expanded: false });
    await heads.nth(texts.length - 1).waitFor();
    for (const at of [0, 1, 5, 20, texts.length - 2]) await heads.nth(at).click();
    await heads.nth(1).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await assertFits(page);
    for (const [path, shown] of [
      ['operate/usage', page.getByRole('table')],
      ['operate/audit', page.getByRole('table')],
      ['runs/resp_1#tab=deliveries', page.getByRole('button', { name: 'Send again' }).first()],
    ] as const) {
      await page.goto(`${gateway.url}/console/${path}`);
      await shown.waitFor();
      await assertFits(page);
      await console.assertHarmless();
    }
  });
});
