import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { startGateway } from '../../src/server.ts';
import { launchBrowser } from '../support/browser.ts';
import { askOn, openConsole, untilStatus } from '../support/console-page.ts';

/** Makes the pictures of docs/images: `node test/e2e/console-pictures.ts`. */
const FOLDER = new URL('../../docs/images/', import.meta.url).pathname;
const MODEL = 'service-model-1-7-deepresearch';
const QUESTION = 'How does a client resume a dropped stream, and why is nothing delivered twice?';

const routes = [{ provider: 'demo', model: 'demo', price: { input: 3, cached_input: 0.3, output: 15 } }];
const config = configSchema.parse({
  server: { port: 0, shutdown_grace_seconds: 1 },
  store: { url: 'memory:' },
  providers: { demo: { builtin: 'demo', pace_ms: 40 } },
  models: {
    [MODEL]: { kind: 'research', routes },
    [`${MODEL}-mini`]: { kind: 'research', routes },
    small: { kind: 'proxy', routes },
  },
  teams: { sales: { limits: { cost_per_month: 500 } } },
  keys: [
    {
      id: 'local',
      secret: 'sk-local',
      admin: true,
      mcp_servers: true,
      limits: { requests_per_minute: 60, concurrent_runs: 10, tokens_per_day: 2_000_000 },
    },
    { id: 'ann', team: 'sales', secret: 'sk-of-ann', limits: { cost_per_day: 20 } },
    { id: 'nightly-batch', team: 'sales', secret: 'sk-of-the-batch' },
  ],
  tools: { web_search: { provider: 'local', folder: './docs' } },
});

await using gateway = await startGateway({ config, log: silentLogger });
await using browser = await launchBrowser();
const picture = { url: gateway.url, viewport: { width: 1200, height: 750 } };
await using light = await openConsole(browser, { ...picture, colorScheme: 'light' });
const { page } = light;
await page.goto(gateway.url);
await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
await page.screenshot({ path: `${FOLDER}console-ask.png` });
await askOn(page, QUESTION);
await page.locator('.entry[data-kind=call]').nth(3).waitFor();
await page.locator('.card[data-mark=read]').nth(2).waitFor();
await page.screenshot({ path: `${FOLDER}console-live.png` });
await untilStatus(page, 'completed');
await page.locator('.report-sources').waitFor();
await page.screenshot({ path: `${FOLDER}console-report.png` });
await page.getByRole('tab', { name: 'Waterfall' }).click();
await page.getByRole('listitem').filter({ hasText: 'Writing' }).waitFor();
await page.screenshot({ path: `${FOLDER}console-waterfall.png` });
await light.page.getByRole('tab', { name: 'Report' }).click();
for (const [key, model] of [
  ['local', `${MODEL}-mini`],
  ['ann', MODEL],
  ['ann', 'small'],
  ['nightly-batch', 'small'],
] as const) {
  const research = model !== 'small';
  const question = 'Which limits can a key have, and how long do they last?';
  const body = research
    ? { model, input: question, metadata: { title: question } }
    : { model, messages: [{ role: 'user', content: question }] };
  const secret = config.keys.find(({ id }) => id === key)?.secret;
  await fetch(`${gateway.url}/v1/${research ? 'responses' : 'chat/completions'}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: false }),
  }).then((answer) => answer.text());
}
const FOLLOW_UP = 'And when the gateway restarts in the middle?';
await page.getByLabel('Follow-up question').fill(FOLLOW_UP);
await page.getByRole('button', { name: 'Follow up' }).click();
await page.getByRole('heading', { name: FOLLOW_UP }).waitFor();
await untilStatus(page, 'completed');
await page.getByRole('link', { name: 'Runs', exact: true }).click();
await page.getByRole('list', { name: 'Follow-ups' }).waitFor();
await page.screenshot({ path: `${FOLDER}console-runs.png` });
await page.goto(`${gateway.url}/console/operate`);
await page.getByRole('cell', { name: 'demo' }).waitFor();
await page.screenshot({ path: `${FOLDER}console-operate.png` });
await page.goto(`${gateway.url}/console/operate/usage#by=key%2Cmodel`);
await page.getByRole('row', { name: /^ann/ }).first().waitFor();
await page.screenshot({ path: `${FOLDER}console-usage.png` });
await page.goto(`${gateway.url}/console/operate/keys`);
await page.getByRole('button', { name: /^ann/ }).click();
await page.getByLabel('Access to').selectOption(MODEL);
await page.getByText('allowed', { exact: true }).waitFor();
await page.screenshot({ path: `${FOLDER}console-keys.png` });
await using dark = await openConsole(browser, { ...picture, colorScheme: 'dark' });
await dark.page.goto(gateway.url);
await dark.page.getByRole('link', { name: 'Runs' }).click();
await dark.page.getByRole('link', { name: QUESTION.slice(0, 30) }).click();
await dark.page.locator('.cite').first().click();
await dark.page.locator('.drawer mark').waitFor();
await dark.page.screenshot({ path: `${FOLDER}console-source-dark.png` });
await dark.page.keyboard.press('Escape');
await dark.page.setViewportSize({ width: 375, height: 667 });
await dark.page.getByRole('tooltip').waitFor({ state: 'detached' });
await dark.page.evaluate('document.activeElement.blur(); scrollTo(0, 0)');
await dark.page.screenshot({ path: `${FOLDER}console-phone-dark.png` });
