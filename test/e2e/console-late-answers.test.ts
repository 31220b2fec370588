import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import type { Gateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { startConsoleGateway } from '../support/console-gateway.ts';
import { confirm, openConsole, routeRuns, signIn } from '../support/console-page.ts';
import { patience } from '../support/time-limit.ts';

const KEY = 'sk-console-of-ann';

describe('answers that reach the console late', function () {
  // A browser and a gateway are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  before(async () => {
    browser = await sharedBrowser();
    gateway = await startConsoleGateway({ keys: [{ id: 'ann', secret: KEY, admin: true }] });
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  const open = async (path: string, prepare: (page: Page) => Promise<unknown> = async () => {}) => {
    const console = await openConsole(browser, { url: gateway.url, secrets: [KEY] });
    await prepare(console.page);
    await console.page.goto(`${gateway.url}/console/${path}`);
    await signIn(console.page, KEY);
    return console;
  };
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true });
  const show = async (page: Page, name: string) => {
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click();
    await heading(page, name).waitFor();
  };
  /** Holds the answer to the first request like this until `release`. */
  const hold = async (page: Page, method: string, url: RegExp) => {
    const [asked, freed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isFirst = true;
    await page.route(url, async (route) => {
      if (route.request().method() === method && isFirst) {
        isFirst = false;
        asked.resolve();
        await freed.promise;
      }
      return route.fallback();
    });
    return { asked: asked.promise, release: () => freed.resolve() };
  };
  /** Lets the page have an answer, and draw what it makes of it. */
  const receive = async (page: Page, held: { release(): void }, url: RegExp) => {
    const [response] = await Promise.all([page.waitForResponse(url), held.release()]);
    await response.finished();
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  };

  it('do not take the user back to what they have left', async () => {
    await using console = await open('documents/vs_1', async (page) => {
      await page.route('**/v1/vector_stores/vs_1**', (route) => {
        const isList = route.request().url().includes('/files');
        return route.fulfill({ json: isList ? { data: [] } : collection([]) });
      });
      await routeRuns(page, [{ id: 'resp_1', question: 'What is tea?', answer: 'Leaves.' }]);
    });
    const { page } = console;
    const deleted = await hold(page, 'DELETE', /vector_stores\/vs_1$/);
    await confirm(page, { name: 'Delete', question: 'Delete? Its documents stay.' });
    await deleted.asked;
    await show(page, 'Runs');
    await receive(page, deleted, /vector_stores\/vs_1$/);
    await heading(page, 'Runs').waitFor();

    await page.getByRole('link', { name: /^What is tea/ }).click();
    await heading(page, 'What is tea?').waitFor();
    const removed = await hold(page, 'DELETE', /responses\/resp_1$/);
    await confirm(page, { name: 'Delete this run', question: 'Delete?' });
    await removed.asked;
    await show(page, 'Documents');
    await receive(page, removed, /responses\/resp_1$/);
    await heading(page, 'Documents').waitFor();

    await page.getByRole('link', { name: 'Ask', exact: true }).click();
    await page.getByLabel('Question', { exact: true }).fill('What is coffee?');
    const submitted = await hold(page, 'POST', /v1\/responses$/);
    await page.getByRole('button', { name: 'Research', exact: true }).click();
    await submitted.asked;
    await show(page, 'Documents');
    await receive(page, submitted, /v1\/responses$/);
    await heading(page, 'Documents').waitFor();
    await console.assertHarmless();
  });

  it('are shown even if they take longer than the pause between two requests', async () => {
    const second = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    let asked = 0;
    await using console = await open('runs', async (page) => {
      await routeRuns(page, [{ id: 'resp_1', question: 'What is tea?', answer: 'Leaves.' }]);
      await page.route('**/v1/responses?*', async (route) => {
        asked += 1;
        if (asked > 1) second.resolve();
        await (asked === 1 ? second.promise : end.promise);
        return route.fallback();
      });
    });
    await console.page.getByRole('link', { name: /^What is tea/ }).waitFor();
    end.resolve();
    await console.assertHarmless();
  });

  it('do not undo what was chosen meanwhile', async () => {
    await using console = await open('runs', (page) =>
      routeRuns(page, [
        { id: 'resp_1', question: 'What is tea?', answer: 'Leaves.' },
        { id: 'resp_2', question: 'What is coffee?', answer: 'Beans.' },
      ]),
    );
    const { page } = console;
    const removed = await hold(page, 'DELETE', /responses\/resp_1$/);
    const entry = (question: string) => page.locator('.entry-line', { hasText: question });
    await confirm(entry('What is tea?'), { name: 'Delete', question: 'Delete?' });
    await removed.asked;
    await entry('What is coffee?').getByRole('checkbox').check();
    await receive(page, removed, /responses\/resp_1$/);
    await page.getByRole('button', { name: 'Compare (1 of 2)' }).waitFor();
    await console.assertHarmless();
  });

  it('of counts and of documents need not agree, and an older one does not undo a newer one', async () => {
    let files = [document('file-1', 'in_progress'), document('file-2', 'completed')];
    const [polled, freed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let polls = 0;
    await using console = await open('documents/vs_1', async (page) => {
      await page.route('**/v1/files?*', (route) => route.fulfill({ json: { data: [] } }));
      await page.route('**/v1/files/file-1', (route) => {
        files = files.slice(1);
        return route.fulfill({ json: { id: 'file-1', deleted: true } });
      });
      await page.route('**/v1/vector_stores/vs_1', (route) =>
        route.fulfill({ json: collection(files.map((file) => ({ ...file, status: 'completed' }))) }),
      );
      await page.route('**/v1/vector_stores/vs_1/files?*', async (route) => {
        const json = { data: files };
        polls += 1;
        if (polls === 2) {
          polled.resolve();
          await freed.promise;
        }
        return route.fulfill({ json });
      });
    });
    const { page } = console;
    const list = page.getByRole('list', { name: 'Documents' });
    await list.getByText('in progress').waitFor();
    await polled.promise;
    await confirm(page, { name: 'Delete file-1', question: 'Delete everywhere?' });
    await list.getByText('file-1').waitFor({ state: 'detached' });
    await receive(page, { release: () => freed.resolve() }, /vs_1\/files/);
    assert.equal(await list.getByRole('listitem').count(), 1);
    await console.assertHarmless();
  });

  it('to an earlier search do not replace those to a later one', async () => {
    await using console = await open('documents/vs_1', async (page) => {
      await page.route('**/v1/vector_stores/vs_1', (route) =>
        route.fulfill({ json: collection([document('file-1', 'completed')]) }),
      );
      await page.route('**/v1/vector_stores/vs_1/files?*', (route) => route.fulfill({ json: { data: [] } }));
      await page.route('**/v1/vector_stores/vs_1/search', (route) => {
        const text = `About ${route.request().postDataJSON().query}.`;
        return route.fulfill({ json: { data: [{ filename: 'a.txt', content: [{ text }] }] } });
      });
    });
    const { page } = console;
    const first = await hold(page, 'POST', /vs_1\/search$/);
    const query = page.getByLabel('Search these documents');
    await query.fill('tea');
    await query.press('Enter');
    await first.asked;
    await query.fill('coffee');
    await query.press('Enter');
    const passages = page.getByRole('list', { name: 'Passages' });
    await passages.getByText('About coffee.').waitFor();
    await receive(page, first, /vs_1\/search$/);
    await passages.getByText('About coffee.').waitFor();
    await console.assertHarmless();
  });

  it('about deliveries before they were sent again do not replace those about them after that', async () => {
    const delivery = {
      id: 'whd_1',
      receiver: 'request',
      url: 'https://example.com',
      event: { id: 'evt_1', type: 'response.completed' },
      attempts: [],
      next_attempt_at: null,
    };
    const [reread, freed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let listed = 0;
    await using console = await open('runs/resp_1', async (page) => {
      await routeRuns(page, [{ id: 'resp_1', question: 'What is tea?', answer: 'Leaves.' }]);
      await page.route('**/v1/webhook_deliveries?run=resp_1', async (route) => {
        listed += 1;
        const status = listed > 2 ? 'delivered' : 'failed';
        if (listed === 2) {
          reread.resolve();
          await freed.promise;
        }
        return route.fulfill({ json: { data: [{ ...delivery, status }] } });
      });
      await page.route('**/v1/webhook_deliveries/*/redeliver', (route) => route.fulfill({ json: delivery }));
    });
    const { page } = console;
    await page.getByRole('tab', { name: 'Deliveries 1' }).click();
    const panel = page.getByRole('tabpanel');
    await panel.getByRole('button', { name: 'Send again' }).click();
    await reread.promise;
    await panel.getByRole('button', { name: 'Send again' }).click();
    await panel.getByText('delivered').waitFor();
    await receive(page, { release: () => freed.resolve() }, /webhook_deliveries\?run/);
    await panel.getByText('delivered').waitFor();
    await console.assertHarmless();
  });

  it('of the list of keys do not hide a key that was made meanwhile', async () => {
    const freed = Promise.withResolvers<void>();
    await using console = await open('operate/keys', (page) =>
      page.route('**/admin/keys?*', async (route) => {
        const response = await route.fetch();
        await freed.promise;
        return route.fulfill({ response });
      }),
    );
    const { page } = console;
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Id').fill('made-meanwhile');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('group', { name: 'New secret' }).waitFor();
    freed.resolve();
    await page.getByRole('button', { name: /^ann\b/ }).waitFor();
    await page.getByRole('button', { name: /^made-meanwhile/ }).waitFor();
    await console.assertHarmless();
  });

  it('of a busy tab still sign a new tab in', async () => {
    await using console = await open('runs');
    const { page } = console;
    await heading(page, 'Runs').waitFor();
    await page.evaluate(`{
      const { postMessage } = BroadcastChannel.prototype;
      BroadcastChannel.prototype.postMessage = function (message) { setTimeout(() => postMessage.call(this, message), 600); };
    }`);
    const other = await page.context().newPage();
    await other.goto(`${gateway.url}/console/runs`);
    await heading(other, 'Runs').waitFor();
  });
});

function document(id: string, status: string) {
  return { id, status, last_error: null };
}

/** A collection of these documents. */
function collection(files: { status: string }[]) {
  const count = (status: string) => files.filter((file) => file.status === status).length;
  const counts = { total: files.length, completed: count('completed'), in_progress: count('in_progress'), failed: 0 };
  return { id: 'vs_1', name: 'Contracts', created_at: 1, usage_bytes: 1, file_counts: counts };
}
