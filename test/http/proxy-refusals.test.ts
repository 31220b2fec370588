import assert from 'node:assert/strict';
import { APIS } from '../support/api-answers.ts';
import { KEY_REFUSALS, REQUEST_REFUSALS, type Refusal, ROUTE_REFUSALS } from '../support/provider-refusals.ts';
import { type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { json, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';

describe("a provider's refusal", () => {
  let first: ScriptedProvider;
  let second: ScriptedProvider;
  let gateway: ProxyGateway;
  const stack = new AsyncDisposableStack();

  before(async () => {
    first = stack.use(await startScriptedProvider());
    second = stack.use(await startScriptedProvider());
    const apis = Object.keys(APIS);
    const routes = (...names: string[]) => names.map((provider) => ({ provider, model: 'm' }));
    gateway = stack.use(
      await startProxyGateway({
        providers: { first: { url: first.url }, second: { url: second.url } },
        models: {
          fast: { kind: 'proxy', responses: 'native', apis, routes: routes('first', 'second') },
          alone: { kind: 'proxy', responses: 'native', apis, routes: routes('first') },
        },
      }),
    );
  });
  after(() => stack.disposeAsync());

  /** Calls every API, streamed and whole. `asked`: how often each provider is called. */
  async function askAll(model: string, check: (answer: Response, text: string) => void, asked: [number, number]) {
    for (const [api, { path, request, answer }] of Object.entries(APIS)) {
      for (const stream of [true, false]) {
        second.respond = () => answer('of the second', stream);
        const before = [first.requests.length, second.requests.length] as const;
        const got = await send(gateway, path, { body: { ...request, model, stream } });
        check(got, await got.text());
        const times = [first.requests.length - before[0], second.requests.length - before[1]];
        assert.deepEqual(times, asked, `${api} ${stream}`);
      }
    }
  }

  const refuse = ({ status, body }: Refusal) => {
    first.respond = () => json(body, { status });
  };

  for (const refusal of [...KEY_REFUSALS, ...ROUTE_REFUSALS]) {
    it(`fails over if the route is at fault (${refusal.who}, ${refusal.status})`, async () => {
      refuse(refusal);
      const check = (answer: Response, text: string) => {
        assert.equal(answer.status, 200);
        assert.match(text, /of the second/);
      };
      await askAll('fast', check, [1, 1]);
    });
  }

  for (const refusal of [...ROUTE_REFUSALS, ...REQUEST_REFUSALS]) {
    it(`is passed on if no other route is left (${refusal.who}, ${refusal.status})`, async () => {
      refuse(refusal);
      const check = (answer: Response, text: string) => {
        assert.deepEqual([answer.status, text], [refusal.status, JSON.stringify(refusal.body)]);
      };
      await askAll('alone', check, [1, 0]);
    });
  }

  for (const refusal of KEY_REFUSALS) {
    it(`of the operator's credential becomes a 502 (${refusal.who}, ${refusal.status})`, async () => {
      refuse(refusal);
      const check = (answer: Response, text: string) => {
        assert.deepEqual([answer.status, JSON.parse(text).error.code], [502, 'upstream_error']);
      };
      await askAll('alone', check, [1, 0]);
    });
  }

  for (const refusal of REQUEST_REFUSALS) {
    it(`is passed on at once if the request is at fault (${refusal.who}, ${refusal.status})`, async () => {
      refuse(refusal);
      const check = (answer: Response, text: string) => {
        assert.deepEqual([answer.status, text], [refusal.status, JSON.stringify(refusal.body)]);
      };
      await askAll('fast', check, [1, 0]);
    });
  }

  it('is passed on from the last route if all routes refuse', async () => {
    const [unsupported, model] = [ROUTE_REFUSALS.find(({ who }) => who === 'OpenAI, parameter'), ROUTE_REFUSALS[6]];
    assert.ok(unsupported && model);
    refuse(unsupported);
    const { path, request } = APIS.chat_completions ?? assert.fail();
    second.respond = () => json(model.body, { status: model.status });
    const answer = await send(gateway, path, { body: { ...request, model: 'fast' } });
    assert.deepEqual([answer.status, await answer.json()], [model.status, model.body]);
  });
});
