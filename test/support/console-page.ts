import assert from 'node:assert/strict';
import type { Browser, BrowserContextOptions, ConsoleMessage, Dialog, Locator, Page, Request } from 'playwright-core';
import { eventually, untilHolds } from './eventually.ts';
import { type SyntheticParts, syntheticRun, syntheticStream } from './synthetic-run.ts';
import { patience } from './time-limit.ts';

/** Elements that the console must never create, whether by itself or from texts of models, pages or clients. */
const FORBIDDEN =
  'script:not([src]), iframe, object, embed, img, video, audio, form[action], style, base, meta[http-equiv]';

/** The console in a browser. Records what it loads, logs and executes. */
export interface ConsolePage extends AsyncDisposable {
  page: Page;
  /**
   * Fails if a request left the gateway's origin, a URL contained a key, a script threw, the content security policy
   * was violated, or the page contains a forbidden element.
   */
  assertHarmless(): Promise<void>;
}

interface ConsoleOptions extends BrowserContextOptions {
  url: string;
  secrets?: string[];
  /** The fixed time of the page's clock. */
  now?: Date;
}

/** Opens the console in an empty page. Waits on the page have time limits. */
export async function openConsole(
  browser: Browser,
  { url, secrets = [], now, viewport = { width: 1280, height: 800 }, permissions = [], ...rest }: ConsoleOptions,
): Promise<ConsolePage> {
  const { origin } = new URL(url);
  // Animations of a run are drawn sixty times a second, which would be most of the browser's work.
  const options = { reducedMotion: 'reduce', colorScheme: 'light', ...rest } as const;
  const kind = JSON.stringify({ ...options, now });
  const pages = unusedPages(browser);
  const page = pages.get(kind) ?? (await (await browser.newContext(options)).newPage());
  pages.delete(kind);
  const context = page.context();
  page.setDefaultTimeout(patience(20));
  if (viewport) await page.setViewportSize(viewport);
  await context.grantPermissions(permissions, { origin });
  if (now !== undefined) await page.clock.setFixedTime(now);
  const { problems, stop } = watch(page, { origin, secrets });
  return {
    page,
    async assertHarmless() {
      assert.deepEqual(problems, []);
      assert.doesNotMatch(page.url(), /sk-/, 'the URL contains a key');
      assert.equal(await page.locator(`#app :is(${FORBIDDEN})`).count(), 0);
      assert.equal(await page.evaluate('globalThis.hit'), undefined, 'a payload ran');
    },
    async [Symbol.asyncDispose]() {
      stop();
      try {
        await page.emulateMedia({ media: null, colorScheme: options.colorScheme });
        await forget(page, origin);
        pages.set(kind, page);
      } catch {
        await context.close();
      }
    },
  };
}

/**
 * Unused pages of a browser, by the options they were created with: a new one costs a second of CPU time, most of it
 * in the browser.
 */
const unused = new WeakMap<Browser, Map<string, Page>>();

function unusedPages(browser: Browser): Map<string, Page> {
  const pages = unused.get(browser) ?? new Map<string, Page>();
  unused.set(browser, pages);
  return pages;
}

/** Resets a page to the state of a new one. */
async function forget(page: Page, origin: string): Promise<void> {
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.clearPermissions();
  await context.clearCookies();
  // A page without scripts of the same origin, because another origin would get a new process.
  await page.goto(`${origin}/healthz`);
  await page.evaluate('localStorage.clear(), sessionStorage.clear()');
}

/** Records violations: things that a console must not do. */
function watch(page: Page, { origin, secrets }: { origin: string; secrets: string[] }) {
  const context = page.context();
  const problems: string[] = [];
  const onRequest = (request: Request) => {
    const address = request.url();
    if (/^(blob|data):/.test(address) && request.resourceType() !== 'script') return;
    if (new URL(address).origin !== origin) problems.push(`a request left the origin: ${address}`);
    for (const secret of secrets) if (address.includes(secret)) problems.push(`a URL contains a key: ${address}`);
  };
  const onError = (error: Error) => problems.push(`a script threw: ${error.stack ?? error.message}`);
  const onDialog = (dialog: Dialog) => {
    problems.push(`a dialog opened: ${dialog.message()}`);
    void dialog.dismiss();
  };
  const onMessage = (message: ConsoleMessage) => {
    const text = message.text();
    // The browser reports each connection that a test cuts.
    if (message.type() !== 'error' || /^Failed to load resource/.test(text)) return;
    problems.push(`the console said: ${text}`);
  };
  const onPage = (other: Page) => problems.push(`a window opened: ${other.url()}`);
  context.on('request', onRequest).on('page', onPage);
  page.on('pageerror', onError).on('dialog', onDialog).on('console', onMessage);
  const stop = () => {
    context.off('request', onRequest).off('page', onPage);
    page.off('pageerror', onError).off('dialog', onDialog).off('console', onMessage);
  };
  return { problems, stop };
}

/** Enters the key. Waits until the gateway accepted it: a page that is left before that has no key. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.sign-in').waitFor({ state: 'detached' });
}

/** Waits until the shown run has this status. */
export async function untilStatus(page: Page, status: string): Promise<void> {
  await page.locator(`.run-about .status[data-status="${status}"]`).waitFor();
}

/** Asks a question on the start page. */
export async function askOn(page: Page, question: string): Promise<void> {
  await page.getByLabel('Question', { exact: true }).fill(question);
  await page.getByRole('button', { name: 'Research', exact: true }).click();
  await page.locator('.run').waitFor();
}

/** Window sizes of a phone and of a desktop. */
export const PHONE = { width: 375, height: 667 };
export const DESK = { width: 1440, height: 900 };

/** Fails if the page is wider than its window, on a phone or a desktop. Restores the size of the window. */
export async function assertFits(page: Page): Promise<void> {
  const before = page.viewportSize() ?? DESK;
  for (const viewport of [DESK, PHONE]) {
    await page.setViewportSize(viewport);
    await untilHolds(async () =>
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), viewport.width),
    );
  }
  await page.setViewportSize(before);
}

/** Waits until this element has the focus. */
export async function untilFocused(page: Page, element: Locator): Promise<void> {
  await page.locator(':focus').and(element).waitFor();
}

/** Presses a button that asks first, and confirms. It asks for four seconds only, which a busy machine may let pass. */
export async function confirm(within: Page | Locator, { name, question }: { name: string | RegExp; question: string }) {
  const named = (text: string | RegExp) => within.getByRole('button', { name: text, exact: true });
  await eventually(`the button asks: ${question}`, async () => {
    await named(name).click();
    return named(question)
      .click({ timeout: 3000 })
      .then(
        () => true,
        () => undefined,
      );
  });
}

/**
 * Scrolls a list to its end until this row of it is in sight. Rows are drawn and measured as they come into sight, which
 * moves the end.
 */
export async function scrollToEnd(list: Locator, row: Locator): Promise<void> {
  await eventually(`the end of the list: ${row}`, async () => {
    await list.evaluate((element) => element.scrollTo(0, 1e9));
    return row.isVisible();
  });
}

interface ShownRun extends SyntheticParts {
  question: string;
  /** Fields of its entry in the list that differ from the defaults. */
  entry?: object;
  /** See `GET /v1/responses/:id/timeline`. */
  times?: number[][];
  turns?: object[];
}

/** Makes the gateway list these finished runs, and no others. */
export async function routeRuns(page: Page, runs: readonly ShownRun[]): Promise<void> {
  const runAt = (url: string) => runs.find(({ id }) => new URL(url).pathname.split('/').includes(id));
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
    const run = runAt(route.request().url());
    if (!run) return route.fulfill({ status: 404, json: { error: { code: 'not_found', message: 'No such run.' } } });
    const events = syntheticRun(run);
    if (new URL(route.request().url()).searchParams.has('stream')) {
      return route.fulfill({ contentType: 'text/event-stream', body: syntheticStream(events) });
    }
    const last: { response?: object } = events.at(-1) ?? {};
    return route.fulfill({ json: last.response });
  });
  await page.route('**/v1/responses/*/timeline', (route) => {
    const { id, times = [], turns = [] } = runAt(route.request().url()) ?? {};
    return route.fulfill({ json: { object: 'response.timeline', id, created_ms: 1, times, turns, currency: 'EUR' } });
  });
  await page.route('**/v1/responses/*/input_items*', (route) =>
    route.fulfill({ json: { data: [{ role: 'user', content: runAt(route.request().url())?.question ?? '' }] } }),
  );
}
