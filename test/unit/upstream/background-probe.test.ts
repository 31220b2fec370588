import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { startScriptedProvider, turn } from '../../support/scripted-provider.ts';
import { startWebServer } from '../../support/web-server.ts';
import { ask, chat, config, textOf } from './chat-harness.ts';

/** A provider that fails in the given way until `recover` is called. */
async function fallible(down: (response: ServerResponse) => void) {
  const seen = { models: 0, turns: 0 };
  let isDown = true;
  const server = await startWebServer((request, response) => {
    const isProbe = request.method === 'GET';
    seen[isProbe ? 'models' : 'turns'] += 1;
    if (isDown) return down(response);
    response.setHeader('content-type', isProbe ? 'application/json' : 'text/event-stream');
    const delta = { choices: [{ index: 0, delta: { content: 'first' }, finish_reason: 'stop' }] };
    response.end(isProbe ? '{"data":[]}' : `data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`);
  });
  return {
    ...server,
    seen,
    url: `${server.origin}/v1`,
    recover: () => {
      isDown = false;
    },
  };
}

const WAYS: Record<string, (response: ServerResponse) => void> = {
  'answers 503': (response) => void response.writeHead(503).end(),
  'resets connections': (response) => void response.destroy(),
};

describe('a route with an open circuit', () => {
  for (const [way, down] of Object.entries(WAYS)) {
    it(`is probed in the background, and used by the first request after it recovers (${way})`, async () => {
      await using first = await fallible(down);
      await using second = await startScriptedProvider({ respond: () => turn({ text: 'second' }) });
      const providers = config({ first: { base_url: first.url, max_retries: 0 }, second: { base_url: second.url } });
      const breaker = { failures: 1, openMs: 300, maxOpenMs: 300, probeMs: 60_000 };
      // The clock stands: no circuit is due for a request, however late a probe is.
      const { upstream, model } = chat(providers, { breaker, clock: { now: () => 0 } });
      await using _ = upstream;
      assert.equal(textOf(await ask(model)), 'second');
      const failed = first.seen.turns;

      while (first.seen.models < 3) {
        assert.equal(textOf(await ask(model)), 'second');
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert.equal(first.seen.turns, failed, 'no request had to find out that it is still down');

      first.recover();
      const probes = first.seen.models;
      while (textOf(await ask(model)) !== 'first') await new Promise((resolve) => setTimeout(resolve, 5));
      assert.ok(first.seen.models > probes);
      assert.equal(first.seen.turns, failed + 1);
      assert.ok(upstream.states().every(({ usable }) => usable));
    });
  }
});
