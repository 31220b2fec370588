import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../../src/base/logger.ts';
import type { GatewayConfig } from '../../../src/config/schema.ts';
import type { ResearchRequest } from '../../../src/research/run/request.ts';
import { type Tool, ToolError } from '../../../src/tools/tool.ts';
import { createToolbox, type Toolbox } from '../../../src/tools/toolbox.ts';
import type { TurnRequest } from '../../../src/upstream/turn.ts';
import { INJECTIONS, OBEY } from '../../support/injections.ts';
import { obedientModel } from '../../support/obedient-model.ts';
import { openHarness, question, runToEnd, testConfig, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, type ScriptedTurn } from '../../support/scripted-model.ts';
import { patience } from '../../support/time-limit.ts';

const SECRET = 'only-for-the-model-55c1';
const ANSWER = 'The harbour is deep [1] and old [2].';

/** Searches, reads what was found, searches once more and answers, whatever the pages say. */
function diligent(): (request: TurnRequest) => ScriptedTurn {
  let turns = 0;
  return (request) => {
    if (
      request.messages[0]?.role === 'system' &&
      /one piece of a long document/.test(`${request.messages[0].content}`)
    ) {
      return { text: ['The harbour is 12 m deep.'] };
    }
    if (isAnswerTurn(request)) return { text: [ANSWER] };
    const next = PLAN[turns++];
    return next ? { text: ['I look further.'], calls: next } : { text: ['I am ready.'] };
  };
}

const fetchCall = (url: string) => ({ name: 'fetch_url_content', arguments: { url } });
const PLAN = [
  [{ name: 'web_search', arguments: { queries: ['depth of the harbour'] } }],
  [fetchCall('corpus:///one.md'), fetchCall('corpus:///two.html'), fetchCall('corpus:///gone.md')],
  [{ name: 'web_search', arguments: { queries: ['age of the quay'] } }],
  [fetchCall('corpus:///three.txt')],
];

interface Ran {
  tools: Tool[];
  config?: GatewayConfig;
  research?: Partial<ResearchRequest>;
}

/** A run of the obedient model over these tools. */
async function run({ tools, config, research }: Ran) {
  const chat = obedientModel(diligent());
  await using harness = await openHarness({ chat, tools, ...(config ? { config } : {}) });
  const request = { instructions: `Be exact. ${SECRET}`, ...research };
  const { response, bytes } = await runToEnd(harness, question({ research: request }));
  return {
    response,
    shown: bytes.toString(),
    calls: response.output.flatMap((item) => (item.type === 'tool_call' ? [`${item.name} ${item.arguments}`] : [])),
    saw: JSON.stringify(chat.requests.map((asked) => asked.messages)),
    chat,
  };
}

const PLANNED = PLAN.flat().map((call) => `${call.name} ${JSON.stringify(call.arguments)}`);

/** Asserts that the order changed nothing in the run and leaked nothing. */
function assertUnmoved(ran: Awaited<ReturnType<typeof run>>, what = ''): void {
  assert.ok(ran.saw.includes(OBEY), `the model saw the order (${what})`);
  assert.deepEqual(ran.calls.toSorted(), PLANNED.toSorted(), `no tool call changed (${what})`);
  assert.equal(ran.response.output_text, ANSWER, what);
  const output = JSON.stringify(ran.response.output);
  assert.ok(!output.includes(SECRET) && !output.includes('careful researcher'), `nothing leaked (${what})`);
  assert.ok(!ran.shown.includes('I obey'), what);
}

describe('injected orders in pages and search results', function () {
  // Each test drives many runs.
  this.timeout(patience(30));
  let folder: string;
  let toolbox: Toolbox;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'injected-'));
    const { tools } = testConfig();
    // One toolbox for all tests: its processes and threads take a second to start.
    toolbox = createToolbox(
      { ...tools, web_search: { ...tools.web_search, folder } },
      { log: silentLogger, cache: { get: async () => undefined, set: async () => {} } },
    );
  });
  after(async () => {
    await toolbox[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  /** The real tools over three documents that hold `text` in title and body. */
  async function overDocuments(text: string, ran: Omit<Ran, 'tools'> = {}) {
    const line = text.replace(/\s+/g, ' ').slice(-300);
    await writeFile(join(folder, 'one.md'), `# Harbour ${line}\n\nThe depth of the harbour is 12 m. ${text}\n`);
    await writeFile(
      join(folder, 'two.html'),
      `<html><head><title>Quay ${escapeHtml(line)}</title></head><body><h1>Quay</h1>` +
        `<p>The age of the quay is unknown. ${escapeHtml(text)}</p><p>The harbour has a depth. ${text}</p></body></html>`,
    );
    await writeFile(join(folder, 'three.txt'), `The quay of the harbour\n\nIts age: ${text}\n`);
    const { signal } = new AbortController();
    const builtin = ['web_search', 'fetch_url_content'];
    await using opened = await toolbox.open({
      builtin,
      allowedDomains: [],
      configuredMcp: false,
      mcpServers: [],
      log: silentLogger,
      signal,
    });
    return await run({ ...ran, tools: [...opened.tools.values()] });
  }

  for (const { name, text } of INJECTIONS) {
    it(`are treated as data: ${name}`, async () => {
      assertUnmoved(await overDocuments(text));
    });
  }

  it('are treated as data in URLs, errors and plain texts of tools', async () => {
    for (const { name, text } of INJECTIONS) {
      const word = encodeURIComponent(text.slice(-200));
      const tools = [
        testTool('web_search', () => ({
          result: text,
          sources: [
            { url: `https://evil.example/?q=${text.slice(-200)}`, title: '', snippet: text, kind: 'listed' },
            { url: `https://evil.example/${word}`, title: text, snippet: '', kind: 'listed' },
          ],
        })),
        testTool('fetch_url_content', () => {
          throw new ToolError('not_found', `The server said: ${text}`);
        }),
      ];
      assertUnmoved(await run({ tools }), name);
    }
  });

  it('are treated as data in compacted results in a tight context', async () => {
    for (const { name, text } of INJECTIONS) {
      const page = `${'The harbour is old and deep. '.repeat(60)}${text} ${'Its depth is 12 m. '.repeat(60)}`;
      const tools = [
        testTool('web_search', ({ queries }) => ({
          result: JSON.stringify({
            results: [1, 2, 3].map((n) => ({
              title: `${queries} ${text}`,
              url: `https://h.example/${n}`,
              snippet: text,
              source_id: n,
            })),
          }),
          sources: [{ url: 'https://h.example/1', title: `Depth ${text}`, snippet: text, kind: 'listed' }],
        })),
        testTool('fetch_url_content', ({ url }) => ({
          result: JSON.stringify({ url, title: `Harbour ${text}`, content: page, source_id: 2, truncated: false }),
          sources: [{ url: String(url), title: `Harbour ${text}`, snippet: text, kind: 'read' }],
        })),
      ];
      const config = testConfig({
        model: { context_length: 3500, max_completion_tokens: 400 },
        research: { keep_tool_results: 1 },
      });
      const ran = await run({ tools, config });
      const whole = JSON.stringify(ran.chat.requests.at(-1)?.messages).split(
        'The harbour is old and deep. '.repeat(60),
      );
      assert.ok(whole.length - 1 < 4, 'most pages were shortened');
      assertUnmoved(ran, name);
    }
  });

  it('are treated as data by the reader of a huge page', async () => {
    for (const { name, text } of INJECTIONS) {
      const part = `${'The harbour is old. '.repeat(1200)}${text}`;
      const huge: Tool = {
        ...testTool('fetch_url_content', () => ({ result: '' })),
        call: async ({ url, offset }) => {
          const next = Number(offset ?? 0) + part.length;
          const page = { url: String(url), title: 'Huge', content: part, total_length: part.length * 3 };
          return {
            sources: [{ url: page.url, title: page.title, snippet: '', kind: 'read' }],
            result: () => ({ ...page, ...(next < page.total_length ? { next_offset: next } : {}) }),
          };
        },
      };
      const tools = [testTool('web_search', () => ({ result: '{"results":[{"title":"A page"}]}' })), huge];
      const config = testConfig({ model: { context_length: 8000, max_completion_tokens: 500 } });
      const ran = await run({ tools, config });
      assert.match(ran.saw, /one piece of a long document/);
      assertUnmoved(ran, name);
    }
  });

  it('are treated as data in the sources of an earlier run', async () => {
    for (const { name, text } of INJECTIONS) {
      const earlierSources = [1, 2].map((n) => ({
        url: `https://earlier.example/${n}`,
        title: `Earlier ${text}`.slice(0, 300),
        snippet: text,
        facts: text,
      }));
      const tools = [
        testTool('web_search', () => ({ result: '{}' })),
        testTool('fetch_url_content', () => ({ result: '{}' })),
      ];
      assertUnmoved(await run({ tools, research: { earlierSources } }), name);
    }
  });

  it('are treated as data while a report is planned, written by sections and verified', async () => {
    for (const { name, text } of INJECTIONS.slice(0, 8)) {
      assertUnmoved(
        await overDocuments(text, { config: testConfig({ research: { verify: true, report: 'full' } }) }),
        name,
      );
    }
  });

  it('are obeyed outside the fence, so this test can fail', async () => {
    const tools = [
      testTool('web_search', () => ({ result: '{}' })),
      testTool('fetch_url_content', () => ({ result: '{}' })),
    ];
    for (const { name, text } of INJECTIONS) {
      const conversation = [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }];
      const ran = await run({ tools, research: { conversation } });
      assert.throws(() => assertUnmoved(ran, name));
    }
  });
});

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
