import assert from 'node:assert/strict';
import { text as readAll } from 'node:stream/consumers';
import type { Browser } from 'playwright-core';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { type Gateway, startGateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { askOn, type ConsolePage, confirm, openConsole, untilStatus } from '../support/console-page.ts';
import { untilHolds } from '../support/eventually.ts';
import { until } from '../support/http-gateway.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import { patience } from '../support/time-limit.ts';

const QUESTION = 'How does a client resume a dropped stream?';

/** The default configuration, but in memory and on a free port. */
function demoConfig() {
  const routes = [{ provider: 'demo', model: 'demo' }];
  return configSchema.parse({
    server: { port: 0, shutdown_grace_seconds: 1 },
    store: { url: 'memory:' },
    providers: { demo: { builtin: 'demo' } },
    models: {
      deep: { kind: 'research', routes },
      'deep-mini': { kind: 'research', routes },
      plain: { kind: 'proxy', routes, apis: ['async', 'chat_completions'] },
    },
    keys: [{ id: 'local', secret: 'sk-local', mcp_servers: true, admin: true }],
    tools: { web_search: { provider: 'local', folder: './docs' } },
  });
}

describe('the console', function () {
  // A browser and gateways are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  before(async () => {
    browser = await sharedBrowser();
    gateway = await startGateway({ config: demoConfig(), log: silentLogger, load: IDLE_LOAD });
  });
  after(() => gateway?.[Symbol.asyncDispose]());

  const open = async (change: Partial<Parameters<typeof openConsole>[1]> = {}): Promise<ConsolePage> => {
    const opened = await openConsole(browser, { url: gateway.url, secrets: ['sk-local'], ...change });
    await opened.page.goto(change.url ?? gateway.url);
    return opened;
  };

  it('answers a first question, shows the cited passages, exports and copies the report', async () => {
    await using console = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = console;
    await page.waitForURL(`${gateway.url}/console`);
    await page.getByRole('button', { name: /^How does a client resume/ }).click();
    const question = page.getByLabel('Question', { exact: true });
    await untilHolds(async () => assert.match(await question.inputValue(), /^How does a client resume/));
    await page.getByRole('button', { name: 'Research', exact: true }).click();
    await untilStatus(page, 'completed');
    await page.locator('.prose li').first().waitFor();
    await page.getByRole('heading', { level: 1, name: /^How does a client resume/ }).waitFor();
    const timeline = page.getByRole('complementary', { name: 'Timeline' });
    await untilHolds(async () => {
      assert.match(await timeline.innerText(), /Plan[\s\S]*Search[\s\S]*Read[\s\S]*Report/);
      assert.match(await page.locator('.meters').innerText(), /Tool calls\s+[1-9]/);
    });
    const id = new URL(page.url()).pathname.split('/').at(-1);
    const headers = { authorization: 'Bearer sk-local' };
    const timelineText = await (await fetch(`${gateway.url}/v1/responses/${id}/timeline`, { headers })).text();
    const { turns }: { turns: unknown[] } = JSON.parse(timelineText);
    await page
      .locator('.meters')
      .getByText(new RegExp(`^Turns\\s*${turns.length}`))
      .waitFor();

    // A citation opens its source at the passage that supports the sentence.
    const claim = page.locator('.prose li').first();
    await claim.locator('.cite').first().click();
    const dialog = page.getByRole('dialog');
    const sentence = await dialog.locator('.claim').innerText();
    assert.ok((await claim.innerText()).startsWith(sentence.slice(0, 40)), sentence);
    const quote = (await dialog.locator('mark').innerText()).replace(/[`*]/g, '');
    assert.ok(quote.includes(sentence.slice(0, 40)) || sentence.includes(quote.slice(0, 40)), `${sentence} / ${quote}`);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    // On a slow machine the first search may find nothing yet, because the documents are still being indexed.
    await timeline
      .getByRole('button', { name: /^Search/ })
      .last()
      .click();
    await page.locator('.found li').first().waitFor();

    const exported = async (entry: string) => {
      await page.getByRole('button', { name: 'Download' }).click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: entry }).click(),
      ]);
      return { name: download.suggestedFilename(), text: await readAll(await download.createReadStream()) };
    };
    const markdown = await exported('Markdown');
    assert.match(markdown.name, /^how-does-a-client-resume-a-dropped-stream-.*\d{4}-\d\d-\d\d\.md$/);
    assert.match(markdown.text, /^# How does a client[\s\S]*\n## Sources\n/);
    const html = await exported('HTML');
    assert.match(html.name, /\.html$/);
    assert.match(html.text, /<li id="source-1" value="1">/);
    const word = await exported('Word');
    assert.match(word.name, /\.docx$/);
    assert.match(word.text, /^PK/);
    const sections = await exported('JSON (report)');
    assert.match(sections.name, /^how-does-a-client-resume-a-dropped-stream-.*\.json$/);
    assert.equal(JSON.parse(sections.text).sources[0].index, 1);
    const json = await exported('JSON (whole run)');
    assert.equal(JSON.parse(json.text).status, 'completed');
    // It says so for two seconds only, so the page itself looks out for it.
    const said = page.evaluate(`new Promise((done) => {
      const isSaid = () => [...document.querySelectorAll('.actions button')].some(({ innerText }) => innerText === 'Copied');
      const look = () => (isSaid() ? done() : requestAnimationFrame(look));
      look();
    })`);
    await Promise.all([said, page.getByRole('button', { name: 'Copy' }).click()]);
    await untilHolds(async () => assert.equal(await page.evaluate('navigator.clipboard.readText()'), markdown.text));
    await console.assertHarmless();
  });

  it('follows up, lists, filters, compares and deletes', async () => {
    await using console = await open();
    const { page } = console;
    await askOn(page, QUESTION);
    await untilStatus(page, 'completed');
    await page.getByLabel('Follow-up question').fill('And what happens at the end of a stream?');
    await page.getByRole('button', { name: 'Follow up' }).click();
    await page.getByRole('heading', { name: 'And what happens at the end of a stream?' }).waitFor();
    await untilStatus(page, 'completed');
    await page.getByRole('link', { name: 'follow-up to an earlier run' }).click();
    await page.getByRole('heading', { name: QUESTION }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: /^And what happens/ }).waitFor();

    await page.getByRole('link', { name: 'Runs' }).click();
    const entries = page.locator('.entry-line');
    await untilHolds(async () => {
      assert.match(await entries.first().innerText(), /^How does a client resume/);
      assert.match(await entries.nth(1).innerText(), /^And what happens at the end of a stream\?/);
    });
    const before = await entries.count();
    await page.getByLabel('Status').selectOption('failed');
    await page.getByText('No matches').waitFor();
    await page.getByLabel('Status').selectOption('completed');
    await Promise.all([
      page.waitForResponse(/v1\/responses\?.*status=completed&model=deep$/),
      page.getByLabel('Model').selectOption('deep'),
    ]);
    await entries.first().waitFor();
    await entries.nth(0).getByRole('checkbox').check();
    await entries.nth(1).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Compare (2 of 2)' }).click();
    await page.locator('.compare-side').nth(1).locator('.prose li').first().waitFor();
    await page.getByRole('tab', { name: 'Sources' }).click();
    await page
      .getByText(/of them in both runs/)
      .first()
      .waitFor();
    await page.getByRole('tab', { name: 'Events' }).click();
    await page
      .getByRole('row', { name: /^output_text.delta/ })
      .first()
      .waitFor();

    await page.getByRole('link', { name: 'All runs' }).click();
    await untilHolds(async () => assert.equal(await entries.count(), before));
    await confirm(entries.first(), { name: 'Delete', question: 'Delete?' });
    await untilHolds(async () => assert.equal(await entries.count(), before - 1));
    await console.assertHarmless();
  });

  it('sends the chosen options: effort, tools, limits, instructions, a schema, files and MCP servers', async () => {
    await using console = await open();
    const { page } = console;
    await page.getByLabel('Question', { exact: true }).fill('What is tea?');
    await page.getByRole('combobox', { name: 'Effort' }).selectOption('low');
    await page.getByRole('combobox', { name: 'Model' }).selectOption('deep-mini');
    await page.locator('input[type=file]').setInputFiles([
      { name: 'notes.csv', mimeType: 'text/csv', buffer: Buffer.from('leaf,grade\na,1\n') },
      { name: 'leaf.png', mimeType: 'image/png', buffer: Buffer.from('89504e47', 'hex') },
    ]);
    await page.getByText('leaf.png').waitFor();
    await page.getByText('Tools, limits and format').click();
    await page.getByLabel('All of the model’s tools').uncheck();
    await page.getByLabel('Python').check();
    await page.getByLabel('Tool calls', { exact: true }).fill('7');
    await page.getByLabel('Report tokens').fill('900');
    await page.getByLabel('Cost', { exact: true }).fill('0.5');
    await page.getByLabel('Draw charts in the report').check();
    await page.getByLabel('Only these sites').fill('tea.example, leaf.example');
    await page.getByLabel('Published since').fill('2024-05-01');
    await page.getByLabel('Parallel lanes').fill('3');
    await page.getByLabel('Instructions').fill('Be short.');
    await page.getByLabel('JSON schema for the answer').fill('{ "type": ');
    await page.getByRole('button', { name: 'Add an MCP server' }).click();
    await page.getByLabel('Name', { exact: true }).fill('wiki');
    await page.getByLabel('Address').fill('https://wiki.example/mcp');
    await page.getByLabel('Token', { exact: true }).fill('secret');
    await page.getByRole('button', { name: 'Research', exact: true }).click();
    await page.getByRole('alert').getByText('The JSON schema is not valid JSON').waitFor();
    await page.getByLabel('JSON schema for the answer').fill('{ "type": "object" }');
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === 'POST' && sent.url().endsWith('/v1/responses')),
      page.getByRole('button', { name: 'Research', exact: true }).click(),
    ]);
    assert.match(request.headers()['idempotency-key'] ?? '', /^[\w-]{20,}$/);
    assert.deepEqual(request.postDataJSON(), {
      model: 'deep-mini',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'File notes.csv:\n\nleaf,grade\na,1\n' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw==' },
            { type: 'input_text', text: 'What is tea?' },
          ],
        },
      ],
      metadata: { title: 'What is tea?' },
      reasoning: { effort: 'low' },
      research: {
        charts: true,
        lanes: 3,
        sources: { allowed_domains: ['tea.example', 'leaf.example'], after: '2024-05-01' },
      },
      tools: [{ type: 'web_search' }, { type: 'code_interpreter' }],
      mcp_servers: [{ name: 'wiki', url: 'https://wiki.example/mcp', access_token: 'secret' }],
      instructions: 'Be short.',
      text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true } },
      max_tool_calls: 7,
      max_output_tokens: 900,
      max_cost: 0.5,
      background: true,
    });
    // This model takes no images: the gateway's error names the field.
    await page
      .getByRole('alert')
      .getByText(/field (input\[0\]|max_cost)/)
      .waitFor();
    await console.assertHarmless();
  });

  it('loads older runs page by page', async () => {
    const headers = { authorization: 'Bearer sk-local', 'content-type': 'application/json' };
    for (let n = 1; n <= 23; n += 1) {
      const body = JSON.stringify({ model: 'deep-mini', input: `Question number ${n} of many`, background: true });
      assert.equal((await fetch(`${gateway.url}/v1/responses`, { method: 'POST', headers, body })).status, 200);
    }
    await using console = await open();
    const { page } = console;
    // A busy gateway puts one question off, which is asked for again.
    await page.route('**/input_items?*', (route) => route.fulfill({ status: 429, json: {} }), { times: 1 });
    await page.getByRole('link', { name: 'Runs' }).click();
    // These runs have no title: the question is read from their input.
    await page.getByText('Question number 23 of many').waitFor();
    assert.equal(await page.locator('.entry-line').count(), 20);
    await page.getByRole('button', { name: 'Load older' }).click();
    await page.getByText('Question number 1 of many').waitFor();
    // Each line asks for its own question, and shows … until it has it.
    const questions = page.locator('.entry-question');
    await until(async () => (await questions.allInnerTexts()).every((text) => text !== '…'));
    const many = (await questions.allInnerTexts()).filter((title) => title.startsWith('Question number'));
    assert.deepEqual(
      many,
      Array.from({ length: 23 }, (_, n) => `Question number ${23 - n} of many`),
    );
    await console.assertHarmless();
  });

  it('lists tasks of research and proxy models with their results, and shows operators the state of the gateway', async () => {
    const submit = async (model: string) => {
      const body = JSON.stringify({ model, messages: [{ role: 'user', content: QUESTION }] });
      const headers = { authorization: 'Bearer sk-local', 'content-type': 'application/json' };
      const answer = await fetch(`${gateway.url}/v1/async`, { method: 'POST', headers, body });
      assert.equal(answer.status, 201);
    };
    await submit('deep');
    await submit('plain');
    await using console = await open();
    const { page } = console;
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('tab', { name: 'Tasks' }).click();
    const entry = (model: string) => page.locator('.entry-line', { hasText: model });
    await entry('plain').locator('.entry-open').click();
    await page.getByRole('heading', { name: 'Task' }).waitFor();
    await page
      .getByText(/This is the demo model/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'All tasks' }).click();
    await entry('deep').locator('.entry-open').click();
    await page.getByRole('heading', { name: QUESTION }).waitFor();
    await untilStatus(page, 'completed');
    await page.getByRole('link', { name: 'Operate' }).click();
    await page.getByRole('cell', { name: 'demo' }).waitFor();
    await page.getByRole('img', { name: /^First token of demo over the last hour/ }).waitFor();
    const main = page.locator('main');
    await untilHolds(async () =>
      assert.match(await main.innerText(), /Instances 1[\s\S]*Providers 1[\s\S]*healthy[\s\S]*Keys 1/),
    );
    assert.doesNotMatch(await main.innerText(), /sk-/);
    await console.assertHarmless();
  });
});
