import assert from 'node:assert/strict';
import { cutAfter, hang, refusedUrl, startScriptedProvider, status, turn } from '../../support/scripted-provider.ts';

const post = (url: string, init: RequestInit = {}) =>
  fetch(`${url}/chat/completions`, { method: 'POST', body: '{"model":"m"}', ...init });

describe('the scripted provider', () => {
  it('answers by its script and records requests', async () => {
    await using provider = await startScriptedProvider({
      respond: (_, n) =>
        n === 0 ? status(429, { headers: { 'retry-after': '3' } }) : turn({ text: 'a b', chunks: 3 }),
    });
    const first = await post(provider.url, { headers: { 'x-canary': 'bird' } });
    assert.equal(first.status, 429);
    assert.equal(first.headers.get('retry-after'), '3');
    const text = await (await post(provider.url)).text();
    assert.match(text, /"content":"a".*"content":" ".*"finish_reason":"stop".*"usage".*data: \[DONE\]\n\n$/s);
    assert.deepEqual(
      provider.requests.map((request) => [request.path, request.body.model]),
      [
        ['/v1/chat/completions', 'm'],
        ['/v1/chat/completions', 'm'],
      ],
    );
    assert.equal(provider.requests[0]?.headers['x-canary'], 'bird');
  });

  it('cuts a stream after n frames', async () => {
    await using provider = await startScriptedProvider({ respond: () => cutAfter(2) });
    const response = await post(provider.url);
    await assert.rejects(response.text());
  });

  it('reports when its client leaves', async () => {
    await using provider = await startScriptedProvider({ respond: () => hang() });
    const leave = new AbortController();
    const asked = post(provider.url, { signal: leave.signal });
    const request = await provider.waitForRequest();
    await provider.waitForActive(1);
    leave.abort();
    await assert.rejects(asked);
    assert.deepEqual(await request.closed, { left: true });
  });

  it('provides a URL that refuses connections', async () => {
    await assert.rejects(post(await refusedUrl()), (error: Error) => /ECONNREFUSED/.test(String(error.cause)));
  });
});
