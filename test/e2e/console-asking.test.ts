import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import type { Gateway } from '../../src/server.ts';
import { sharedBrowser } from '../support/browser.ts';
import { startConsoleGateway } from '../support/console-gateway.ts';
import { assertFits, confirm, DESK, openConsole, PHONE } from '../support/console-page.ts';
import { untilHolds } from '../support/eventually.ts';
import { gatewayFolder } from '../support/gateway-process.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { type ProviderRequest, type Script, startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

const QUESTION = 'How deep is the lake?';

/** A model that asks the user if it has `ask_user`, and plans if `update_plan` is its only tool. */
function askOrPlan({ body }: ProviderRequest): Script {
  const tools = body.tools?.map((tool) => tool.function.name) ?? [];
  if (tools.includes('ask_user')) {
    return turn({ toolCalls: [{ id: 'c', name: 'ask_user', arguments: '{"question":"Which lake?"}' }] });
  }
  if (tools.length === 1 && tools[0] === 'update_plan') {
    const messages = JSON.stringify(body.messages);
    const parts = messages.includes('hostile') ? HOSTILE_TEXTS.slice(0, 30) : ['Depth', 'Age'];
    const items = parts.map((text) => ({ text, status: 'open' }));
    return turn({ toolCalls: [{ id: 'c', name: 'update_plan', arguments: JSON.stringify({ items }) }] });
  }
  return turn({ text: 'It is deep.' });
}

describe('asking in the console', function () {
  // A browser and a gateway are started.
  this.timeout(patience(30));
  let browser: Browser;
  let gateway: Gateway;
  const stack = new AsyncDisposableStack();
  before(async () => {
    browser = await sharedBrowser();
    const folder = stack.use(await gatewayFolder());
    const provider = stack.use(await startScriptedProvider({ respond: askOrPlan }));
    const routes = [{ provider: 'only', model: 'm' }];
    gateway = stack.use(
      await startConsoleGateway({
        providers: { only: { base_url: provider.url } },
        models: { deep: { kind: 'research', routes } },
        files: { url: `file:${folder.path}` },
      }),
    );
  });
  after(() => stack.disposeAsync());

  const open = async (viewport: { width: number; height: number }) => {
    const console = await openConsole(browser, { url: gateway.url, viewport });
    await console.page.goto(`${gateway.url}/console`);
    await console.page.getByText('Tools, limits and format').click();
    return console;
  };
  const bodySentBy = async (page: Page, name: string) => {
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === 'POST' && sent.url().endsWith('/v1/responses')),
      page.getByRole('button', { name, exact: true }).click(),
    ]);
    return request.postDataJSON();
  };

  it('shows the plan first, lets it be edited, and researches by it with the chosen options', async () => {
    await using console = await open(PHONE);
    const { page } = console;
    await page.getByLabel('Question', { exact: true }).fill(QUESTION);
    await page.getByLabel('Show me the plan first').check();
    await page.getByLabel('Effort').selectOption('low');
    await page.getByLabel('All of the model’s tools').uncheck();
    await page.getByLabel('Tool calls', { exact: true }).fill('7');
    await page.getByLabel('Instructions', { exact: true }).fill('In metres.');
    await page.getByLabel('Draw charts in the report').check();
    assert.deepEqual((await bodySentBy(page, 'Research')).research, { plan: 'propose', charts: true });
    const plan = page.getByRole('form', { name: 'Plan' });
    await plan.getByLabel('Part 1', { exact: true }).waitFor();
    assert.equal(await plan.getByLabel('Part 2', { exact: true }).inputValue(), 'Age');
    await assertFits(page);
    await plan.getByRole('button', { name: 'Remove part 1' }).click();
    await plan.getByRole('button', { name: 'Add a part' }).press('Enter');
    await page
      .locator(':focus')
      .and(plan.getByLabel('Part 2', { exact: true }))
      .waitFor();
    await page.keyboard.type('Fish');
    const sent = await bodySentBy(page, 'Start the research');
    assert.equal(sent.input, 'Follow this plan instead:\n\n1. Age\n2. Fish');
    assert.match(sent.previous_response_id, /^resp_/);
    const { reasoning, research, tools, max_tool_calls: calls, instructions } = sent;
    const expected = {
      reasoning: { effort: 'low' },
      research: { charts: true },
      tools: [{ type: 'web_search' }],
      calls: 7,
      instructions: 'In metres.',
    };
    assert.deepEqual(
      { reasoning, research, tools, calls, instructions },
      expected,
      'what was asked for holds for the research, too',
    );
    await page.getByText('It is deep.').first().waitFor();
    await page.getByRole('link', { name: 'follow-up to an earlier run' }).waitFor();
    await console.assertHarmless();
  });

  it('shows a question of the run, and sends the answer to it', async () => {
    await using console = await open(PHONE);
    const { page } = console;
    await page.getByLabel('Question', { exact: true }).fill(QUESTION);
    await page.getByLabel('Ask me if something is unclear').check();
    assert.deepEqual((await bodySentBy(page, 'Research')).research, { clarify: true });
    await page.getByRole('heading', { name: 'The run has a question' }).waitFor();
    await page.getByText('Which lake?').waitFor();
    await page.getByLabel('Your answer').fill('Baikal');
    assert.equal((await bodySentBy(page, 'Answer')).input, 'Baikal');
    await page.getByText('It is deep.').first().waitFor();
    await page.getByRole('heading', { name: 'Follow up' }).waitFor();
    await console.assertHarmless();
  });

  it('shows a plan of hostile texts as text, and the page fits', async () => {
    await using console = await open(PHONE);
    const { page } = console;
    await page.getByLabel('Question', { exact: true }).fill('A hostile plan, please');
    await page.getByLabel('Show me the plan first').check();
    await bodySentBy(page, 'Research');
    await page.getByLabel('Part 30', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Part 1', { exact: true }).inputValue(), HOSTILE_TEXTS[0]);
    await assertFits(page);
    await console.assertHarmless();
  });

  it('uploads, reads, searches, asks about and deletes documents in a collection', async () => {
    await using console = await openConsole(browser, { url: gateway.url, viewport: PHONE });
    const { page } = console;
    await page.goto(`${gateway.url}/console`);
    await page.getByRole('link', { name: 'Documents' }).click();
    await page.getByText('No collections yet').waitFor();
    const name = HOSTILE_TEXTS[3] ?? '';
    await page.getByLabel('Name of a new collection').fill(name);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('No documents yet').waitFor();
    const files = [
      { name: 'lake <img src=x>.txt', mimeType: 'text/plain', buffer: Buffer.from('The lake is 1642 metres deep.') },
      { name: 'broken.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7\nno document at all') },
    ];
    await page.locator('input[type=file]').first().setInputFiles(files);
    await page.getByText('2 documents, 1 read, 1 could not be read').waitFor();
    const list = page.getByRole('list', { name: 'Documents' });
    // The names are read after the files.
    await untilHolds(async () =>
      assert.match(await list.innerText(), /broken\.pdf\s*failed\s*\S+[\s\S]*lake <img src=x>\.txt\s*completed/),
    );
    await assertFits(page);
    await page.getByLabel('Search these documents').fill('how deep is the lake');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    const passages = page.getByRole('list', { name: 'Passages' });
    await passages.getByText('1642 metres deep').waitFor();
    await page.reload();
    await confirm(page, { name: 'Delete broken.pdf', question: 'Delete everywhere?' });
    await page.getByText('1 document', { exact: true }).waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1);
    await page.getByLabel('Question', { exact: true }).fill(QUESTION);
    const sent = await bodySentBy(page, 'Research');
    assert.deepEqual(sent.tools, [{ type: 'file_search', vector_store_ids: [id] }]);
    await page.getByText('It is deep.').first().waitFor();
    await page.goBack();
    await confirm(page, { name: /^Delete lake/, question: 'Delete everywhere?' });
    await page.getByText('No documents yet').waitFor();
    await confirm(page, { name: 'Delete', question: 'Delete? Its documents stay.' });
    await page.getByText('No collections yet').waitFor();
    await console.assertHarmless();
  });

  it('uploads a document, sends its id with the question, and deletes it if it is removed before', async () => {
    await using console = await open(DESK);
    const { page } = console;
    const attach = (name: string) =>
      page
        .locator('input[type=file]')
        .setInputFiles([{ name, mimeType: 'application/pdf', buffer: Buffer.from('%PDF-') }]);
    const storedFiles = async () => {
      const answer = await fetch(`${gateway.url}/v1/files`, { headers: { authorization: 'Bearer sk-local' } });
      const { data } = z.object({ data: z.array(z.object({ filename: z.string() })) }).parse(await answer.json());
      return data.map(({ filename }) => filename);
    };
    await attach('real.pdf');
    const [answer] = await Promise.all([
      page.waitForResponse((got) => got.request().method() === 'DELETE'),
      page.getByRole('button', { name: 'Remove real.pdf' }).click(),
    ]);
    assert.equal(answer.status(), 200);
    await attach('kept.pdf');
    await page.getByRole('button', { name: 'Remove kept.pdf' }).waitFor();
    assert.deepEqual(await storedFiles(), ['kept.pdf']);
    await Promise.all([
      page.waitForResponse((got) => got.request().method() === 'DELETE'),
      page.getByRole('button', { name: 'Remove kept.pdf' }).click(),
    ]);
    const removed: string[] = [];
    await page.route('**/v1/files/*', (route) => {
      removed.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
      return route.fulfill({ json: { id: 'file-1', deleted: true } });
    });
    let uploads = 0;
    await page.route('**/v1/files', (route) => {
      const { headers, body } = { headers: route.request().headers(), body: route.request().postData() ?? '' };
      assert.match(String(headers['content-type']), /^multipart\/form-data; boundary=/);
      assert.match(body, /name="purpose"\r\n\r\nuser_data[\s\S]*filename="report.*\.pdf"/);
      uploads += 1;
      if (uploads === 3) {
        const error = { code: 'quota_exceeded', message: 'Too many files.', type: 'x', param: null };
        return route.fulfill({ status: 429, json: { error } });
      }
      return route.fulfill({ json: { id: `file-${uploads}` } });
    });
    await attach('report.pdf');
    await page.getByRole('button', { name: 'Remove report.pdf' }).click();
    await page.getByRole('button', { name: 'Remove report.pdf' }).waitFor({ state: 'detached' });
    await attach('report <img src=x onerror=globalThis.hit=1>.pdf');
    await page.getByRole('button', { name: /^Remove report </ }).waitFor();
    await attach('report3.pdf');
    await page.getByRole('alert').getByText('Too many files.').waitFor();
    await page.getByLabel('Question', { exact: true }).fill('What does it say?');
    await page.route('**/v1/responses', (route) => route.abort());
    const sent = await bodySentBy(page, 'Research');
    assert.deepEqual(sent.input[0].content, [
      { type: 'input_file', file_id: 'file-2' },
      { type: 'input_text', text: 'What does it say?' },
    ]);
    await untilHolds(() => assert.deepEqual(removed, ['DELETE /v1/files/file-1']));
    await console.assertHarmless();
  });
});
