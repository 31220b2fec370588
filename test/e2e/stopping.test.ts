import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { type ProxyGateway, payloadsOf, send, startProxyGateway } from '../support/proxy-gateway.ts';
import {
  mayCallTools,
  type ScriptedProvider,
  stallAfter,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

const CHAT = { model: 'deep', stream: true, messages: [{ role: 'user', content: 'What is a run?' }] };

describe('a gateway that is told to stop', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  let provider: ScriptedProvider;
  /** Lets the provider answer. */
  let release: () => void;

  beforeEach(async () => {
    const released = Promise.withResolvers<void>();
    release = released.resolve;
    provider = await startScriptedProvider({
      respond: async ({ body }) => {
        await released.promise;
        return turn({ text: mayCallTools({ body }) ? 'I am ready.' : 'A run is one execution.' });
      },
    });
  });
  afterEach(async () => {
    release();
    await provider[Symbol.asyncDispose]();
  });

  const start = (server: object): Promise<ProxyGateway> =>
    startProxyGateway({ providers: { scripted: { url: provider.url } }, server });

  it('refuses new work with 503 while a running chat completion continues to its end', async () => {
    await using gateway = await start({ shutdown_grace_seconds: 20 });
    const pending = send(gateway, '/chat/completions', { body: CHAT });
    await provider.waitForRequest(1);
    const closed = gateway.gateway.close();

    const refused = await send(gateway, '/responses', { body: { model: 'deep', input: 'too late' } });
    assert.equal(refused.status, 503);
    assert.match(await refused.text(), /"shutting_down"/);
    assert.ok(refused.headers.has('retry-after'));
    const readiness = await fetch(new URL('/readyz', gateway.url));
    assert.equal(readiness.status, 503);

    release();
    const payloads = payloadsOf(await (await pending).text());
    assert.equal(payloads.at(-1), '[DONE]');
    assert.match(JSON.stringify(payloads), /execution/);
    await closed;
  });

  it('ends a chat stream that exceeds the grace period with an error, not with [DONE]', async () => {
    await using gateway = await start({ shutdown_grace_seconds: 0.5, heartbeat_seconds: 0.05 });
    const answer = await send(gateway, '/chat/completions', { body: CHAT });
    const text = answer.text();
    const closed = gateway.gateway.close();
    const last = payloadsOf(await text).at(-1);
    assert.ok(isObject(last) && isObject(last.error), 'the last payload tells of an error');
    assert.equal(last.error.code, 'shutting_down');
    await closed;
  });

  it('ends calls of a proxy model that exceed the grace period in order, with the error', async () => {
    await using gateway = await start({ shutdown_grace_seconds: 0.5 });
    const ask = (stream: boolean) =>
      send(gateway, '/chat/completions', {
        body: { ...CHAT, model: 'fast', stream },
        signal: AbortSignal.timeout(patience(20)),
      });
    provider.respond = () => stallAfter(4);
    const streamed = await ask(true);
    const text = streamed.text();
    const whole = ask(false);
    await provider.waitForRequest(2);
    const closed = gateway.gateway.close();
    const { status, headers } = await whole;
    assert.deepEqual([status, headers.has('retry-after')], [503, true]);
    const [chunk, error] = payloadsOf(await text).slice(-2);
    assert.match(JSON.stringify(chunk), /"finish_reason":"error".*shutting_down/);
    assert.deepEqual(isObject(error) && isObject(error.error) && error.error.code, 'shutting_down');
    await closed;
  });
});
