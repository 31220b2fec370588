import assert from 'node:assert/strict';
import { answerPart } from '../../../src/protocol/items.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { ToolError } from '../../../src/tools/tool.ts';
import { lookup, lookups, runResearch } from '../../support/research-run.ts';
import { testTool } from '../../support/run-harness.ts';

const codesOf = ({ response }: { response: { warnings: readonly { code: string }[] } }) =>
  response.warnings.map(({ code }) => code);

/** A search that lists two pages. */
const search = testTool('web_search', () => ({
  result: '{}',
  sources: ['one', 'two'].map((name) => ({
    url: `https://${name}.example/`,
    title: name,
    snippet: '',
    kind: 'listed',
  })),
}));
const fetching = (readable: (url: string) => boolean): Tool => ({
  ...testTool('fetch_url_content', () => ({ result: '{}' })),
  async call({ url }) {
    if (!readable(String(url))) throw new ToolError('not_found', 'HTTP 404');
    const source = { url: String(url), title: 'read', snippet: '', kind: 'read' as const };
    return { sources: [source], result: (sourceId) => ({ url: String(url), source_id: sourceId(String(url)) }) };
  },
});
const fetches = (...names: string[]) =>
  names.map((name) => ({ name: 'fetch_url_content', arguments: { url: `https://${name}.example/` } }));

describe('the warnings of a run', () => {
  it('are empty if there is nothing to warn of', async () => {
    const { response, events } = await runResearch({
      turns: [{ calls: lookups('a') }],
      answers: [{ text: ['So [1].'] }],
    });
    assert.deepEqual(response.warnings, []);
    const [created] = events;
    assert.ok(created?.type === 'response.created');
    assert.deepEqual(created.response.warnings, []);
  });

  it('name each number without a source once', async () => {
    const run = await runResearch({
      turns: [{ calls: lookups('a') }],
      answers: [{ text: ['So [1, 7]. And ', '[7] and [8].'] }],
    });
    assert.equal(run.response.output_text, 'So [1]. And [?] and [?].');
    assert.deepEqual(run.response.warnings, [
      { code: 'citation_without_source', message: 'The answer cites [7], and there is no source of this number.' },
      { code: 'citation_without_source', message: 'The answer cites [8], and there is no source of this number.' },
    ]);
  });

  it('say what the answer rests on however many there are', async () => {
    const cited = Array.from({ length: 60 }, (_, n) => `[${n + 1}]`).join(' ');
    const run = await runResearch({ answers: [{ text: [`It rained ${cited}.`] }] });
    assert.deepEqual([codesOf(run).length, codesOf(run).at(-1)], [50, 'no_sources']);
  });

  it('say no_sources if nothing was looked up, found or cited', async () => {
    const alone = await runResearch({ answers: [{ text: ['From memory.'] }] });
    assert.deepEqual(codesOf(alone), ['no_sources']);
    assert.equal(alone.response.incomplete_details, null, 'one that needed no sources is whole');
    const empty = await runResearch({
      turns: [{ calls: lookups('a') }],
      tools: [testTool('lookup', () => ({ result: '{}' }))],
    });
    assert.deepEqual(codesOf(empty), ['no_sources']);
    assert.deepEqual(empty.response.incomplete_details, { reason: 'no_sources' });
    const earlierSources = [{ url: 'https://before.example/', title: '', snippet: '' }];
    const cited = await runResearch({ request: { earlierSources }, answers: [{ text: ['As said [1].'] }] });
    assert.deepEqual(codesOf(cited), []);
    const uncited = await runResearch({ request: { earlierSources }, answers: [{ text: ['As said.'] }] });
    assert.deepEqual(codesOf(uncited), ['no_sources']);
  });

  it('name a tool of which every call failed', async () => {
    const broken: Tool = {
      ...lookup(),
      call: async () => {
        throw new ToolError('upstream', 'The service is down.');
      },
    };
    const run = await runResearch({
      turns: [{ calls: lookups('a') }, { calls: lookups('b') }],
      tools: [broken, search],
    });
    assert.deepEqual(codesOf(run), ['tool_unavailable', 'no_sources']);
    assert.match(run.response.warnings[0]?.message ?? '', /lookup/);
  });

  it('name cited pages that could not be read, which are not verified', async () => {
    const run = await runResearch({
      turns: [
        { calls: [{ name: 'web_search', arguments: { queries: ['x'] } }] },
        // Models leave the scheme out.
        { calls: [...fetches('one'), { name: 'fetch_url_content', arguments: { url: 'two.example' } }] },
      ],
      tools: [search, fetching((url) => url.includes('one'))],
      answers: [{ text: ['Read [1], listed [2].'] }],
    });
    assert.deepEqual(
      answerPart(run.message)?.annotations.map(({ verified }) => verified),
      [true, false],
    );
    assert.deepEqual(run.response.warnings, [
      {
        code: 'source_unreadable',
        message: 'Source [2] was listed by a search and could not be read: https://two.example/',
      },
    ]);
  });

  it('name an MCP server that could not be reached', async () => {
    const stand: Tool = {
      ...testTool('wiki.call', () => ({ result: '{}' })),
      unreachable: { server: 'wiki', reason: 'connection refused' },
    };
    const run = await runResearch({ turns: [{ calls: lookups('a') }], tools: [lookup(), stand] });
    assert.deepEqual(run.response.warnings, [
      { code: 'mcp_server_unavailable', message: 'The MCP server wiki could not be reached: connection refused' },
    ]);
  });

  it('name an MCP server that has more tools than are offered', async () => {
    const tool: Tool = { ...testTool('wiki.read', () => ({ result: '{}' })), leftOut: { server: 'wiki', count: 72 } };
    const run = await runResearch({ turns: [{ calls: lookups('a') }], tools: [lookup(), tool] });
    assert.deepEqual(run.response.warnings, [
      {
        code: 'tool_unavailable',
        message: 'Not offered: 72 tools of the MCP server wiki. Choose with allowed_tools.',
      },
    ]);
  });
});
