import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { runEvent } from '../../src/protocol/events.ts';
import { responseObject } from '../../src/protocol/response.ts';
import { startGateway } from '../../src/server.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import { type Body, CHOICES, type Given, ITEMS, PARAMETERS, TOOLS } from '../support/responses-api-parts.ts';
import { startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

/**
 * `docs/responses-api.md`: the outcome of every parameter, tool and input item of the Responses API in the types of the
 * official SDK. `WRITE_TABLES=1` rewrites the tables.
 */

const PAGE = new URL('../../docs/responses-api.md', import.meta.url);
const TYPES = readFileSync(
  new URL('../../node_modules/openai/resources/responses/responses.d.ts', import.meta.url),
  'utf8',
);
const KEY = 'sk-table-0123456789abcdef';

/** The request parameters that the SDK lists. */
function parametersOfSdk(): string[] {
  const [, body = ''] = /export interface ResponseCreateParamsBase \{([\s\S]*?)\n\}/.exec(TYPES) ?? [];
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name = '']) => name);
}
/** The fields that every response has, by the SDK's types. */
function fieldsOfSdk(): string[] {
  const [, body = ''] = /export interface Response \{([\s\S]*?)\n\}/.exec(TYPES) ?? [];
  return [...body.matchAll(/^ {4}(\w+):/gm)].map(([, name = '']) => name);
}
function unionOfSdk(name: string): string[] {
  const [, members = ''] = new RegExp(`export type ${name} = ([^;]+);`).exec(TYPES) ?? [];
  return members.split(' | ');
}

/** The types of the events in a union of the SDK. */
function eventsOfSdk(union: string): string[] {
  return unionOfSdk(union).flatMap((name) => {
    const [, body = ''] = new RegExp(`export interface ${name} \\{([\\s\\S]*?)\\n\\}`).exec(TYPES) ?? [];
    const [, type] = /^ {4}type: '([\w.]+)';/m.exec(body) ?? [];
    return type ?? [];
  });
}

/** Makes file_search name an existing vector store. */
function withStore(tool: Body | undefined, store: string): Body | undefined {
  return tool?.type === 'file_search' ? { ...tool, vector_store_ids: [store] } : tool;
}

const MODELS = ['plain', 'deep'] as const;
const HEAD = '| | plain model | research model |\n| --- | --- | --- |';

async function openGateway() {
  const stack = new AsyncDisposableStack();
  const provider = stack.use(await startScriptedProvider({ respond: () => turn({ text: '{"said": "Hello."}' }) }));
  const routes = [{ provider: 'only', model: 'm' }];
  const config = configSchema.parse({
    server: { port: 0 },
    store: { url: 'memory:' },
    providers: { only: { base_url: provider.url } },
    models: {
      plain: { kind: 'proxy', apis: ['responses'], routes, tools: ['web_search', 'execute_python'] },
      deep: { kind: 'research', profile: 'openai', routes, research: { tools: ['web_search', 'execute_python'] } },
    },
    tools: { web_search: { provider: 'searxng', url: 'http://127.0.0.1:9' } },
    keys: [{ id: 'ann', secret: KEY, mcp_servers: true }],
  });
  const gateway = stack.use(await startGateway({ config, log: silentLogger, load: IDLE_LOAD }));
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const post = (path: string, body: object) =>
    fetch(gateway.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const made = async <S extends z.ZodType>(schema: S, path: string, body: object) =>
    schema.parse(await (await post(path, body)).json());
  const withOutput = z.object({ id: z.string(), output: z.array(z.looseObject({ type: z.string(), id: z.string() })) });
  const given = async (model: string): Promise<Given> => {
    const response = await made(withOutput, '/v1/responses', { model, input: 'Hello' });
    const compacted = await made(
      z.object({ output: z.array(z.looseObject({ type: z.string() })) }),
      '/v1/responses/compact',
      { model, input: 'Hello' },
    );
    return {
      store: (await made(z.object({ id: z.string() }), '/v1/vector_stores', {})).id,
      response: response.id,
      item: response.output.findLast(({ type }) => type === 'message')?.id ?? '',
      compaction: compacted.output.find(({ type }) => type === 'compaction') ?? {},
      conversation: (await made(z.object({ id: z.string() }), '/v1/conversations', {})).id,
    };
  };
  /** The outcome of a request. `places` matches the part in question in `x-ignored-parameters`. */
  const outcome = async (body: object, places: RegExp): Promise<string> => {
    const answer = await post('/v1/responses', body);
    const text = await answer.text();
    if (!answer.ok) {
      const { error } = z.object({ error: z.object({ code: z.string().nullable() }) }).parse(JSON.parse(text));
      return `refused: \`${error.code}\``;
    }
    return places.test(answer.headers.get('x-ignored-parameters') ?? '') ? 'ignored' : 'works';
  };
  return { given, outcome, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function rowsOf(
  names: readonly string[],
  bodyOf: (name: string, given: Given) => Body,
  placeOf: (name: string) => RegExp,
) {
  await using gateway = await openGateway();
  const given = { plain: await gateway.given('plain'), deep: await gateway.given('deep') };
  const rows: string[] = [];
  for (const name of names) {
    const cells: string[] = [];
    for (const model of MODELS) {
      const body = { model, input: 'Say it as JSON.', ...bodyOf(name, given[model]) };
      cells.push(await gateway.outcome(body, placeOf(name)));
    }
    rows.push(`| ${[shown(name), ...cells].join(' | ')} |`);
  }
  return rows;
}

function shown(name: string): string {
  const tool = TOOLS[name];
  const item = ITEMS[name]?.({
    store: '',
    response: '',
    item: '',
    compaction: { type: 'compaction' },
    conversation: '',
  })[0];
  const type = tool?.type ?? (item && `${item.type ?? 'message'}${item.role ? ` (${item.role})` : ''}`);
  return `\`${type ?? name}\``;
}

/** Compares a table of the page with the outcomes, or writes it. */
function compareTable(heading: string, rows: readonly string[], head = HEAD): void {
  const page = readFileSync(PAGE, 'utf8');
  const table = [head, ...new Set(rows)].join('\n');
  const place = new RegExp(`(## ${heading}\\n\\n)(?:\\|[^\\n]*\\n)*\\n?`);
  const written = page.replace(place, (_, title: string) => `${title}${table}\n\n`);
  if (process.env.WRITE_TABLES === '1') writeFileSync(PAGE, written);
  else assert.equal(page, written, 'WRITE_TABLES=1 writes the tables anew');
}

it('the response object has every field that the SDK requires', () => {
  const missing = fieldsOfSdk().filter((name) => !(name in responseObject.shape));
  assert.ok(fieldsOfSdk().length > 10);
  assert.deepEqual(missing, []);
});

describe('the tables of docs/responses-api.md', function () {
  // Each cell takes at least one request.
  this.timeout(patience(30));

  it('match the outcome of every parameter', async () => {
    assert.deepEqual(Object.keys(PARAMETERS).toSorted(), parametersOfSdk().toSorted());
    const rows = await rowsOf(
      Object.keys(PARAMETERS),
      (name, given) => PARAMETERS[name]?.(given) ?? {},
      (name) => new RegExp(`(?:^|, )${name}\\b`),
    );
    compareTable('Parameters', rows);
  });

  it('match the outcome of every tool', async () => {
    assert.deepEqual(Object.keys(TOOLS).toSorted(), unionOfSdk('Tool').toSorted());
    const rows = await rowsOf(
      Object.keys(TOOLS),
      (name, { store }) => ({ tools: [withStore(TOOLS[name], store)] }),
      () => /tools\[0\](?!\.)/,
    );
    compareTable('Tools', rows);
  });

  it('match the outcome of every input item', async () => {
    assert.deepEqual(Object.keys(ITEMS).toSorted(), unionOfSdk('ResponseInputItem').toSorted());
    const rows = await rowsOf(
      Object.keys(ITEMS),
      (name, given) => ({ input: [{ role: 'user', content: 'Say it as JSON.' }, ...(ITEMS[name]?.(given) ?? [])] }),
      () => /input\[1\](?!\.)/,
    );
    compareTable('Input items', rows);
  });

  it('match the outcome of every tool choice', async () => {
    const hosted = /interface ToolChoiceTypes \{[^}]*?type: ([^;]+);/.exec(
      TYPES.replace(/\/\*\*[\s\S]*?\*\//g, ''),
    )?.[1];
    const missing = hosted?.split(' | ').filter((type) => !(type.slice(1, -1) in CHOICES));
    assert.deepEqual(missing, []);
    const rows = await rowsOf(
      Object.keys(CHOICES),
      (name, { store }) => {
        const { tool, choice } = CHOICES[name] ?? {};
        return { tools: [TOOLS.FunctionTool, ...(tool ? [withStore(tool, store)] : [])], tool_choice: choice };
      },
      () => /tool_choice/,
    );
    compareTable('Tool choice', rows);
  });

  it('name the events that are not sent', () => {
    const sent = new Set<string>(runEvent.options.map(({ shape }) => shape.type.value));
    const known = eventsOfSdk('ResponseStreamEvent');
    assert.ok(known.length > 50, `${known.length} events`);
    assert.deepEqual([...sent.difference(new Set(known))], []);
    const rows = known.flatMap((type) => (sent.has(type) ? [] : [`| \`${type}\` |`]));
    compareTable('Events that are not sent', rows.toSorted(), '| event |\n| --- |');
  });
});
