import assert from 'node:assert/strict';
import { APIS } from '../support/api-answers.ts';
import { KEY_REFUSALS, REQUEST_REFUSALS, type Refusal, ROUTE_REFUSALS } from '../support/provider-refusals.ts';
import { type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { json, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';

describe('a refusal of a provider', () => {
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

  /** Asks every API, streamed and whole. `asked`: how often each provider is. */
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
    it(`that judges the route makes the next one answer (${refusal.who}, ${refusal.status})`, async () => {
      refuse(refusal);
      const check = (answer: Response, text: string) => {
        assert.equal(answer.status, 200);
        assert.match(text, /of the second/);
      };
      await askAll('fast', check, [1, 1]);
    });
  }

  for (const refusal of [...ROUTE_REFUSALS, ...REQUEST_REFUSALS]) {
    it(`is passed on where no other route is left (${refusal.who}, ${refusal.status})`, async () => {
      refuse(refusal);
      const check = (answer: Response, text: string) => {
        assert.deepEqual([answer.status, text], [refusal.status, JSON.stringify(refusal.body)]);
      };
      await askAll('alone', check, [1, 0]);
    });
  }

  for (const refusal of KEY_REFUSALS) {
    it(`of the operator's key is none that a client gets (${refusal.who}, ${refusal.status})`, async () => {
      refuse(refusal);
      const check = (answer: Response, text: string) => {
        assert.deepEqual([answer.status, JSON.parse(text).error.code], [502, 'upstream_error']);
      };
      await askAll('alone', check, [1, 0]);
    });
  }

  for (const refusal of REQUEST_REFUSALS) {
    it(`that judges the request is passed on at once (${refusal.who}, ${refusal.status})`, async () => {
      refuse(refusal);
      const check = (answer: Response, text: string) => {
        assert.deepEqual([answer.status, text], [refusal.status, JSON.stringify(refusal.body)]);
      };
      await askAll('fast', check, [1, 0]);
    });
  }

  it('of every route is what the client gets, the last one', async () => {
    const [unsupported, model] = [ROUTE_REFUSALS.find(({ who }) => who === 'OpenAI, parameter'), ROUTE_REFUSALS[6]];
    assert.ok(unsupported && model);
    refuse(unsupported);
    const { path, request } = APIS.chat_completions ?? assert.fail();
    second.respond = () => json(model.body, { status: model.status });
    const answer = await send(gateway, path, { body: { ...request, model: 'fast' } });
    assert.deepEqual([answer.status, await answer.json()], [model.status, model.body]);
  });
});
