import assert from 'node:assert/strict';
import { APIS, type ApiUnderTest, endlessOf } from '../support/api-answers.ts';
import { send, startProxyGateway } from '../support/proxy-gateway.ts';
import { raw, type Script, type Step, startScriptedProvider } from '../support/scripted-provider.ts';

describe('an answer that never begins', () => {
  for (const [api, under] of Object.entries(APIS)) {
    for (const stream of [true, false]) {
      it(`fails over, or is a 504 without another route (${api}, ${stream ? 'stream' : 'whole'})`, async () => {
        const cases = new Map(Object.entries(endlessOf(under)).map(([name, events]) => [modelOf(name), events]));
        await using world = await startWorld(cases, { api, under, stream });
        // Side by side, because each lasts as long as its provider may be silent.
        const outcomes = [...cases.keys()].map(async (model) => {
          const [answer, refused] = await Promise.all([world.ask(model), world.ask(alone(model))]);
          assert.deepEqual([answer.status, refused.status], [200, 504], model);
          assert.match(answer.text, /of the second/, model);
          assert.doesNotMatch(answer.text, /error/, model);
        });
        await Promise.all(outcomes);
        assert.deepEqual(world.asked.toSorted(), [...cases.keys(), ...cases.keys()].toSorted());
      });
    }
  }
});

const modelOf = (name: string) => name.replaceAll(' ', '-');
/** The model with a route to the first provider only. */
const alone = (model: string) => `${model}-alone`;

/** The first provider repeats the events of its model for ever, the second one answers well. */
async function startWorld(
  cases: ReadonlyMap<string, string>,
  { api, under, stream }: { api: string; under: ApiUnderTest; stream: boolean },
) {
  await using stack = new AsyncDisposableStack();
  const asked: string[] = [];
  const first = stack.use(await startScriptedProvider());
  first.respond = ({ body }) => {
    asked.push(String(body.model));
    return endless(cases.get(String(body.model)) ?? '');
  };
  const second = stack.use(await startScriptedProvider());
  second.respond = () => under.answer('of the second', stream);
  const proxy = (model: string, providers: string[]) => {
    const routes = providers.map((provider) => ({ provider, model }));
    return { kind: 'proxy', responses: 'native', apis: [api], routes };
  };
  const models = [...cases.keys()].flatMap((model) => [
    [model, proxy(model, ['first', 'second'])],
    [alone(model), proxy(model, ['first'])],
  ]);
  const gateway = stack.use(
    await startProxyGateway({
      providers: { first: { url: first.url, timeouts: { first_byte: 1 } }, second: { url: second.url } },
      models: Object.fromEntries(models),
    }),
  );
  const ask = async (model: string) => {
    const answer = await send(gateway, under.path, { body: { ...under.request, model, stream } });
    return { status: answer.status, text: await answer.text() };
  };
  const owned = stack.move();
  return { asked, ask, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function endless(events: string): Script {
  const steps = Array.from({ length: 2000 }, (): Step[] => [
    { do: 'send', bytes: events },
    { do: 'wait', ms: 50 },
  ]);
  return { ...raw(''), steps: steps.flat() };
}
