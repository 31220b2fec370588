import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { silentLogger } from '../../../src/base/logger.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { CallAccount } from '../../../src/gateway/call-account.ts';
import { ModelProxy } from '../../../src/gateway/model-proxy.ts';
import { topLevelSpans } from '../../../src/protocol/requests/json-spans.ts';
import { createUpstream } from '../../../src/upstream/upstream.ts';
import { payloadsOf } from '../../support/proxy-gateway.ts';
import { hang, raw, type Script, startScriptedProvider, status, turn } from '../../support/scripted-provider.ts';
import { startWebServer } from '../../support/web-server.ts';

const COMMENT = ': still working\n\n';
const BODY = Buffer.from('{"model":"fast","messages":[],"stream":true}');

/** A proxy in front of two providers; it holds comments back for no time at all. */
async function startProxy(first: Script, second: Script) {
  const stack = new AsyncDisposableStack();
  const providers = await Promise.all(
    [first, second].map((script) => startScriptedProvider({ respond: () => script })),
  );
  for (const provider of providers) stack.use(provider);
  const config = configSchema.parse({
    providers: Object.fromEntries(
      providers.map(({ url }, n) => [`p${n}`, { base_url: url, max_retries: 0, timeouts: { first_token: 0.2 } }]),
    ),
    models: { fast: { kind: 'proxy', routes: [0, 1].map((n) => ({ provider: `p${n}`, model: 'm' })) } },
    keys: [{ id: 'k', secret: 's' }],
  });
  const upstream = stack.use(createUpstream(config.providers, { log: silentLogger }));
  const proxy = new ModelProxy({ upstream, holdMs: 0 });
  const { fast: model } = config.models;
  const [key] = config.keys;
  const [modelAt] = topLevelSpans(BODY, 'model');
  assert.ok(model?.kind === 'proxy' && key && modelAt);
  const answer: RequestListener = (req, res) => {
    const { signal } = new AbortController();
    const account = new CallAccount();
    const request = {
      method: 'POST',
      path: '/chat/completions',
      api: 'chat_completions',
      headers: req.headers,
      body: BODY,
      modelAt,
      encoding: 'json',
    } as const;
    proxy
      .forward({ request, res, modelName: 'fast', model, key, stream: true, account, signal })
      .catch((error: Error) => res.writeHead(500).end(error.message));
  };
  const { origin } = stack.use(await startWebServer(answer));
  return { url: `${origin}/`, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const KEPT_ALIVE: Script = { ...raw(''), steps: [{ do: 'send', bytes: COMMENT }, { do: 'hang' }] };

describe('keep-alive comments', () => {
  it('are relayed after a while, and another provider can still take over', async () => {
    await using proxy = await startProxy(KEPT_ALIVE, turn({ text: 'second' }));
    const answer = await fetch(proxy.url, { method: 'POST' });
    const text = await answer.text();
    assert.ok(text.startsWith(COMMENT), text);
    assert.match(text, /second/);
    assert.equal(payloadsOf(text).at(-1), '[DONE]');
  });

  for (const [name, second] of [
    ['refuses', status(500)],
    ['stays silent', { ...hang(), headersAfter: 0 }],
  ] as const) {
    it(`are followed by an error event if the last provider ${name}`, async () => {
      await using proxy = await startProxy(KEPT_ALIVE, second);
      const answer = await fetch(proxy.url, { method: 'POST' });
      const text = await answer.text();
      assert.equal(answer.status, 200);
      assert.match(JSON.stringify(payloadsOf(text)), /^\[\{"id".*"finish_reason":"error".*"error":\{"message"/);
    });
  }
});
