import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { startGateway } from '../../src/server.ts';
import { launchBrowser } from '../support/browser.ts';
import { askOn, openConsole, untilStatus } from '../support/console-page.ts';

/** Makes the pictures of docs/images: `node test/e2e/console-pictures.ts`. */
const FOLDER = new URL('../../docs/images/', import.meta.url).pathname;
const MODEL = 'service-model-1-7-deepresearch';
const QUESTION = 'How does a client resume a dropped stream, and why is nothing delivered twice?';

const routes = [{ provider: 'demo', model: 'demo' }];
const config = configSchema.parse({
  server: { port: 0, shutdown_grace_seconds: 1 },
  store: { url: 'memory:' },
  providers: { demo: { builtin: 'demo', pace_ms: 40 } },
  models: { [MODEL]: { kind: 'research', routes }, [`${MODEL}-mini`]: { kind: 'research', routes } },
  keys: [
    {
      id: 'local',
      secret: 'sk-local',
      admin: true,
      mcp_servers: true,
      limits: { requests_per_minute: 60, concurrent_runs: 10, tokens_per_day: 2_000_000 },
    },
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
await using dark = await openConsole(browser, { ...picture, colorScheme: 'dark' });
await dark.page.goto(gateway.url);
await dark.page.getByRole('link', { name: 'Runs' }).click();
await dark.page.locator('.entry-open').first().click();
await dark.page.locator('.cite').first().click();
await dark.page.locator('.drawer mark').waitFor();
await dark.page.screenshot({ path: `${FOLDER}console-source-dark.png` });
