import assert from 'node:assert/strict';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { type SyntheticParts, syntheticRun, syntheticStream } from './synthetic-run.ts';
import { patience } from './time-limit.ts';

/** Tags that the console never makes: none of its own, and none from texts of models, pages or clients. */
const FORBIDDEN =
  'script:not([src]), iframe, object, embed, img, video, audio, form[action], style, base, meta[http-equiv]';

/** The console in a browser, watched: what it loads, what it logs, what runs in it. */
export interface ConsolePage extends AsyncDisposable {
  page: Page;
  /**
   * Fails where a request left the gateway's origin, an address held a key, a script threw, the policy had to
   * step in, or an element stands in the page that has no business there.
   */
  assertHarmless(): Promise<void>;
}

/** Opens the console. Its waits end with an error. */
export async function openConsole(
  browser: Browser,
  { url, secrets = [], ...options }: { url: string; secrets?: string[] } & BrowserContextOptions,
): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    acceptDownloads: true,
    // What breathes while a run goes on is drawn sixty times a second, which is most of what a browser does then.
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(patience(20));
  const origin = new URL(url).origin;
  const problems: string[] = [];
  context.on('request', (request) => {
    const address = request.url();
    if (/^(blob|data):/.test(address) && request.resourceType() !== 'script') return;
    if (new URL(address).origin !== origin) problems.push(`a request left the origin: ${address}`);
    for (const secret of secrets) if (address.includes(secret)) problems.push(`a key stands in an address: ${address}`);
  });
  page.on('pageerror', (error) => problems.push(`a script threw: ${error.stack ?? error.message}`));
  page.on('dialog', (dialog) => {
    problems.push(`a dialog opened: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    const text = message.text();
    // A connection that a test cuts is told of by the browser.
    if (message.type() !== 'error' || /^Failed to load resource/.test(text)) return;
    problems.push(`the console said: ${text}`);
  });
  context.on('page', (other) => problems.push(`a window opened: ${other.url()}`));
  return {
    page,
    async assertHarmless() {
      assert.deepEqual(problems, []);
      assert.doesNotMatch(page.url(), /sk-/, 'a key stands in the address');
      assert.equal(await page.locator(`#app :is(${FORBIDDEN})`).count(), 0);
      assert.equal(await page.evaluate('globalThis.hit'), undefined, 'a payload ran');
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** Waits until the shown run has this status. */
export async function untilStatus(page: Page, status: string): Promise<void> {
  await page.locator(`.run-about .status[data-status="${status}"]`).waitFor();
}

/** Asks a question on the page for it. */
export async function askOn(page: Page, question: string): Promise<void> {
  await page.getByLabel('Question', { exact: true }).fill(question);
  await page.getByRole('button', { name: 'Research', exact: true }).click();
  await page.locator('.run').waitFor();
}

/** The widths that people look at the console with. */
export const PHONE = { width: 375, height: 667 };
export const DESK = { width: 1440, height: 900 };

/** Fails where the page is wider than its window, on a phone or a desk. The window is as it was afterwards. */
export async function assertFits(page: Page): Promise<void> {
  const before = page.viewportSize() ?? DESK;
  for (const viewport of [DESK, PHONE]) {
    await page.setViewportSize(viewport);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), viewport.width);
  }
  await page.setViewportSize(before);
}

interface ShownRun extends SyntheticParts {
  question: string;
  /** Its entry in the list, where that is not the usual one. */
  entry?: object;
  /** See `GET /v1/responses/:id/timeline`. */
  times?: number[][];
  turns?: object[];
}

/** Has the gateway tell of these finished runs, and of no others. */
export async function routeRuns(page: Page, runs: readonly ShownRun[]): Promise<void> {
  const asked = (url: string) => runs.find(({ id }) => new URL(url).pathname.split('/').includes(id));
  const data = runs.map(({ id, question, entry, response }) => ({
    id,
    object: 'response',
    status: 'completed',
    model: 'deep',
    created_at: 1_795_304_000,
    started_at: 1_795_304_000,
    completed_at: 1_795_304_100,
    metadata: { title: question },
    ...response,
    ...entry,
  }));
  await page.route('**/v1/responses?*', (route) => route.fulfill({ json: { data, has_more: false } }));
  await page.route('**/v1/responses/*', (route) => {
    const run = asked(route.request().url());
    if (!run) return route.fulfill({ status: 404, json: { error: { code: 'not_found', message: 'No such run.' } } });
    const events = syntheticRun(run);
    if (new URL(route.request().url()).searchParams.has('stream')) {
      return route.fulfill({ contentType: 'text/event-stream', body: syntheticStream(events) });
    }
    const last: { response?: object } = events.at(-1) ?? {};
    return route.fulfill({ json: last.response });
  });
  await page.route('**/v1/responses/*/timeline', (route) => {
    const { id, times = [], turns = [] } = asked(route.request().url()) ?? {};
    return route.fulfill({ json: { object: 'response.timeline', id, created_ms: 1, times, turns, currency: 'EUR' } });
  });
  await page.route('**/v1/responses/*/input_items*', (route) =>
    route.fulfill({ json: { data: [{ role: 'user', content: asked(route.request().url())?.question ?? '' }] } }),
  );
}
