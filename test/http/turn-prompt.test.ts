import assert from 'node:assert/strict';
import { type TurnPrompt, turnPrompt } from '../../src/protocol/operating/turn-prompt.ts';
import { timeline } from '../../src/protocol/timeline.ts';
import { assertRefused, send } from '../support/http-client.ts';
import { laneProvider } from '../support/lane-model.ts';
import { openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import { type ProviderRequest, startScriptedProvider } from '../support/scripted-provider.ts';

const PARTS = ['lake depth', 'lake age', 'lake width'];
const DOCUMENTS = {
  'lake.md': '# The lake\n\nThe lake is 1642 metres deep, 25 million years old and 79 km in width.\n',
};
const as = (secret: string) => ({ key: null, headers: { authorization: `Bearer ${secret}` } });
const KEYS = [
  { id: 'boss', user: 'ann', secret: 'sk-boss', admin: true },
  { id: 'other-boss', secret: 'sk-other', admin: true },
];

/** What a request and a prompt have in common: roles, texts and tool calls. */
const asSent = ({ body }: ProviderRequest) =>
  (body.messages ?? []).map(({ role, content, tool_calls }) => ({
    role,
    text: String(content ?? ''),
    calls: tool_calls?.map(({ function: called }: { function: { name: string; arguments: string } }) => ({
      name: called.name,
      arguments: called.arguments,
    })),
  }));
const asShown = ({ messages }: TurnPrompt) => messages.map(({ role, text, calls }) => ({ role, text, calls }));

describe('GET /admin/responses/:id/turns/:turn', () => {
  const stack = new AsyncDisposableStack();
  let open: ResearchGateway;
  let closed: ResearchGateway;

  before(async () => {
    const start = async (telemetry: object) => {
      const provider = stack.use(await startScriptedProvider({ respond: laneProvider(PARTS) }));
      const research = { report: 'short' };
      return stack.use(await openResearchGateway({ provider, research, documents: DOCUMENTS, telemetry, keys: KEYS }));
    };
    open = await start({ contents: true });
    closed = await start({});
  });
  after(() => stack.disposeAsync());

  const promptsOf = async (gateway: ResearchGateway, id: string) => {
    const { turns } = timeline.parse((await send(gateway, `GET /v1/responses/${id}/timeline`)).json);
    const prompts: TurnPrompt[] = [];
    for (const number of turns.keys()) {
      const answer = await send(gateway, `GET /admin/responses/${id}/turns/${number + 1}`, as('sk-boss'));
      prompts.push(turnPrompt.strict().parse(answer.json));
    }
    return prompts;
  };

  for (const lanes of [1, 3]) {
    it(`returns what the provider got ${lanes === 1 ? 'without lanes' : 'in lanes and after them'}`, async () => {
      const before = open.provider.requests.length;
      const { id } = await open.respond({ input: 'Tell me all of the lake.', research: { lanes } });
      const prompts = await promptsOf(open, id);
      const sent = open.provider.requests.slice(before);
      assert.equal(prompts.length, sent.length);
      const texts = (list: unknown[]) => list.map((each) => JSON.stringify(each)).sort();
      assert.deepEqual(texts(prompts.map(asShown)), texts(sent.map(asSent)));
      assert.equal(prompts.at(-1)?.kind, 'answer');
      assert.deepEqual(new Set(prompts.flatMap(({ lane }) => lane ?? [])), new Set(lanes === 1 ? [] : [1, 2, 3]));
      for (const { tools, estimated_tokens: size } of prompts) assert.ok(tools.includes('web_search') && size > 500);
    });
  }

  it('omits texts unless telemetry.contents is set', async () => {
    const { id } = await closed.respond({ input: 'Tell me all of the lake.' });
    const prompts = await promptsOf(closed, id);
    const [first] = prompts;
    assert.deepEqual(
      first?.messages.map(({ role }) => role),
      ['system', 'user'],
    );
    assert.equal(first?.messages[1]?.characters, 'Tell me all of the lake.'.length);
    assert.ok(!/lake|research/i.test(JSON.stringify(prompts.map(({ messages }) => messages))));
  });

  it('is for admins of the same user only, and answers 404 for unknown turns', async () => {
    const { id } = await open.respond({ input: 'Tell me all of the lake.' });
    const target = (turn: string) => `GET /admin/responses/${id}/turns/${turn}`;
    const unknown = { status: 404, code: 'not_found' } as const;
    assertRefused(await send(open, target('1')), unknown);
    assertRefused(await send(open, target('1'), as('sk-other')), unknown);
    for (const turn of ['0', '99', '-1', '1.5', 'x'])
      assertRefused(await send(open, target(turn), as('sk-boss')), unknown);
  });
});
