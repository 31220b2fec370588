import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { once } from '../../src/base/once.ts';
import { KEYS } from '../support/http-gateway.ts';
import { fetchDocument, openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import { patience } from '../support/time-limit.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

describe('/mcp', () => {
  let gateway: ResearchGateway;
  before(async () => {
    gateway = await openResearchGateway({
      documents: { 'lake.md': '# The lake\n\nThe lake is 1642 metres deep.\n' },
      model: ({ research, messages }) => {
        if (!research) return { text: 'The lake is 1642 metres deep [1].' };
        const hasRead = messages.some(({ role }) => role === 'tool');
        return hasRead ? { text: 'I am ready.' } : { toolCalls: [fetchDocument('lake.md')] };
      },
      research: { plan: 'off' },
      mcp: { enabled: true },
    });
  });
  after(() => gateway[Symbol.asyncDispose]());

  async function connect(key: string, url = gateway.url) {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
    return { client, [Symbol.asyncDispose]: () => client.close() };
  }

  it('researches, reports progress, and returns the report with its sources', async () => {
    await using connected = await connect(KEYS.ann);
    const { client } = connected;
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).sort(), [
      'follow_up',
      'research',
      'research_result',
      'research_status',
    ]);
    const progressMessages: unknown[] = [];
    const result = await client.callTool(
      { name: 'research', arguments: { question: 'How deep is the lake?', effort: 'low' } },
      { onprogress: (progress) => void progressMessages.push(progress.message) },
    );
    assert.ok(!result.isError);
    const found = result.structuredContent as { id: string; status: string; report: string; sources: object[] };
    assert.equal(found.status, 'completed');
    assert.match(found.report, /1642 metres deep \[1\]/);
    assert.deepEqual(found.sources, [{ title: 'The lake', url: 'corpus:///lake.md' }]);
    // Clients may miss progress that arrives together with the result.
    assert.ok(progressMessages.includes('fetch_url_content'), JSON.stringify(progressMessages));
    const content = result.content as { type: string; text: string }[];
    assert.match(content[0]?.text ?? '', /1642[\s\S]*Sources:\n1\. The lake/);

    const { id } = found;
    const status = await client.callTool({ name: 'research_status', arguments: { id } });
    assert.deepEqual(status.structuredContent, { id, status: 'completed' });
    const again = await client.callTool({ name: 'research_result', arguments: { id } });
    assert.deepEqual(again.structuredContent, found);
    const further = await client.callTool({ name: 'follow_up', arguments: { id, question: 'Really?' } });
    assert.equal((further.structuredContent as { status: string }).status, 'completed');
    const response = await fetch(`${gateway.url}/v1/responses/${id}`, {
      headers: { authorization: `Bearer ${KEYS.ann}` },
    });
    assert.equal(response.status, 200, 'it is a response like any other');
  });

  it('continues a research call when its client disconnects', async () => {
    await using connected = await connect(KEYS.ann);
    const leaving = new AbortController();
    const firstMessage = Promise.withResolvers<string | undefined>();
    const pending = connected.client.callTool(
      { name: 'research', arguments: { question: 'How deep is the lake, again?' } },
      {
        signal: leaving.signal,
        onprogress: ({ message }) => {
          firstMessage.resolve(message);
          leaving.abort();
        },
      },
    );
    await assert.rejects(pending);
    const id = /^(resp_\S+) has begun$/.exec((await firstMessage.promise) ?? '')?.[1];
    await using later = await connect(KEYS.ann);
    // Without an id the tool takes the newest run.
    for (const args of [{ id }, {}]) {
      for (;;) {
        const { structuredContent: found } = await later.client.callTool({ name: 'research_status', arguments: args });
        const shown = found as { id: string; status: string };
        assert.equal(shown.id, id);
        if (shown.status === 'completed') break;
        assert.equal(shown.status, 'in_progress');
      }
    }
    await using bob = await connect(KEYS.bob);
    const his = await bob.client.callTool({ name: 'research_result', arguments: {} });
    assert.match(JSON.stringify(his.content), /not_found/);
  });

  it('names the research that goes on, so that nobody pays for a second one, if the gateway stops', async () => {
    const stopping = await openResearchGateway({
      model: () => ({ status: 200, headers: {}, steps: [{ do: 'hang' }] }),
      research: { plan: 'off' },
      mcp: { enabled: true },
    });
    await using connected = await connect(KEYS.ann, stopping.url);
    const stop = once(() => stopping[Symbol.asyncDispose]());
    const result = await connected.client.callTool(
      { name: 'research', arguments: { question: 'How deep is the lake?' } },
      { onprogress: () => void stop() },
    );
    await stop();
    assert.equal(result.isError, true);
    assert.match(JSON.stringify(result.content), /shutting_down: .*goes on: ask research_result for resp_[\w-]+ later/);
  });

  it('hides runs of other users, and returns errors for unknown models and keys', async () => {
    await using ann = await connect(KEYS.ann);
    await using bob = await connect(KEYS.bob);
    const made = await ann.client.callTool({ name: 'research', arguments: { question: 'How deep?' } });
    const { id } = made.structuredContent as { id: string };
    for (const [name, more] of [
      ['research_status', {}],
      ['research_result', {}],
      ['follow_up', { question: 'And now?' }],
    ] as const) {
      const result = await bob.client.callTool({ name, arguments: { id, ...more } });
      assert.equal(result.isError, true, name);
      assert.match(JSON.stringify(result.content), /not_found/);
    }
    const wrong = await ann.client.callTool({ name: 'research', arguments: { question: 'x', model: 'none' } });
    assert.match(JSON.stringify(wrong.content), /model_not_found/);
    await assert.rejects(connect('sk-nobody'));
  });

  it('works over stdio too', async () => {
    const args = [MAIN, 'mcp', '--base-url', gateway.url, '--api-key', KEYS.ann];
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
    const progressMessages: unknown[] = [];
    const result = await client.callTool(
      { name: 'research', arguments: { question: 'How deep is the lake?' } },
      { onprogress: (progress) => void progressMessages.push(progress.message) },
    );
    assert.match((result.structuredContent as { report: string }).report, /1642/);
    await client.close();
    assert.ok(progressMessages.includes('fetch_url_content'), JSON.stringify(progressMessages));
  }).timeout(patience(20));

  it('requires a key, and exists only if enabled', async () => {
    const post = (url: string, key?: string) =>
      fetch(`${url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      });
    assert.equal((await post(gateway.url)).status, 401);
    await using other = await openResearchGateway({});
    assert.equal((await post(other.url, KEYS.ann)).status, 404);
    assert.equal((await fetch(`${gateway.url}/mcp`, { headers: { authorization: `Bearer ${KEYS.ann}` } })).status, 405);
  });
});
