import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { configSchema } from '../../../src/config/schema.ts';
import type { RouteName, TurnRequest } from '../../../src/upstream/turn.ts';
import { createUpstream } from '../../../src/upstream/upstream.ts';
import { MODEL, testConfig } from '../../support/run-harness.ts';
import { type ScriptedProvider, startScriptedProvider, status, turn } from '../../support/scripted-provider.ts';

async function twoRoutes() {
  const stack = new AsyncDisposableStack();
  const first = stack.use(await startScriptedProvider({ respond: () => turn({ text: 'first' }) }));
  const second = stack.use(await startScriptedProvider({ respond: () => turn({ text: 'second' }) }));
  const provider = ({ url }: ScriptedProvider) => ({ base_url: url, max_retries: 0 });
  const providers = configSchema.shape.providers.parse({ first: provider(first), second: provider(second) });
  const upstream = stack.use(createUpstream(providers, { log: silentLogger }));
  const model = testConfig().models[MODEL];
  assert.ok(model?.kind === 'research');
  const routes = [
    { provider: 'first', model: 'm' },
    { provider: 'second', model: 'm' },
  ];
  const chat = upstream.chatModel({ modelName: MODEL, model: { ...model, routes } });
  const ask = async (request: Partial<TurnRequest> = {}): Promise<RouteName | undefined> => {
    const { signal } = new AbortController();
    const messages = [{ role: 'user' as const, content: 'Hello' }];
    for await (const part of chat.turn({ messages, ...request }, { signal }))
      if (part.type === 'finish') return part.route;
    return undefined;
  };
  return { first, second, ask, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('a run with a warm route', () => {
  it('stays on it, and uses another if it fails', async () => {
    await using routes = await twoRoutes();
    const { first, second, ask } = routes;
    assert.equal((await ask())?.provider, 'first');
    first.respond = () => status(503);
    const other = await ask();
    assert.equal(other?.provider, 'second');
    first.respond = () => turn({ text: 'first' });
    const asked = first.requests.length;
    assert.equal((await ask({ ...(other && { warmRoute: other }) }))?.provider, 'second', 'its cache is warm');
    assert.equal(first.requests.length, asked);
    second.respond = () => status(503);
    assert.equal((await ask({ ...(other && { warmRoute: other }) }))?.provider, 'first');
  });

  it('uses the first route if the warm one is no longer configured', async () => {
    await using routes = await twoRoutes();
    assert.equal((await routes.ask({ warmRoute: { provider: 'gone', model: 'm' } }))?.provider, 'first');
  });

  it('sends prompt_cache_key until it is refused', async () => {
    await using routes = await twoRoutes();
    const { first, ask } = routes;
    first.respond = ({ body }) =>
      'prompt_cache_key' in body
        ? status(400, { message: "property 'prompt_cache_key' is unsupported" })
        : turn({ text: 'first' });
    await ask({ cacheKey: 'the-run' });
    await ask({ cacheKey: 'the-run' });
    const keys = first.requests.map(({ body }) => ('prompt_cache_key' in body ? body.prompt_cache_key : undefined));
    assert.deepEqual(keys, ['the-run', undefined, undefined]);
  });

  it('drops tools that must not be called if tool_choice is refused', async () => {
    await using routes = await twoRoutes();
    const { first, ask } = routes;
    first.respond = ({ body }) =>
      body.tool_choice === 'none'
        ? status(400, { message: 'tool_choice: none is not supported' })
        : turn({ text: 'ok' });
    const tools = [{ name: 'lookup', description: 'Looks up.', parameters: { type: 'object' } }];
    await ask({ tools, toolChoice: 'none' });
    const last = first.requests.at(-1)?.body;
    assert.deepEqual([last?.tools, last?.tool_choice], [undefined, undefined]);
    await ask({ tools });
    assert.equal(first.requests.at(-1)?.body.tools?.length, 1, 'tools that may be called stay');
  });
});
