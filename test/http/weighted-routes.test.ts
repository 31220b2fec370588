import assert from 'node:assert/strict';
import { completion } from '../support/chat-faults.ts';
import { chat, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { json, startScriptedProvider, status } from '../support/scripted-provider.ts';

describe('routes with weights', () => {
  it('share the calls of a proxy model, and fail over to the same priority first', async () => {
    let fails = false;
    await using rare = await startScriptedProvider({ respond: () => json(completion('rare')) });
    await using usual = await startScriptedProvider({
      respond: () => (fails ? status(500) : json(completion('usual'))),
    });
    await using late = await startScriptedProvider({ respond: () => json(completion('late')) });
    await using gateway = await startProxyGateway({
      providers: { rare: { url: rare.url }, usual: { url: usual.url }, late: { url: late.url } },
      models: {
        shared: {
          kind: 'proxy',
          routes: [
            { provider: 'late', model: 'm', priority: 2, weight: 50 },
            { provider: 'rare', model: 'm', weight: 1 },
            { provider: 'usual', model: 'm', weight: 3 },
          ],
        },
      },
    });
    const ask = async () => {
      const answer = await send(gateway, '/chat/completions', { body: chat({ model: 'shared' }) });
      assert.equal(answer.status, 200);
      await answer.text();
    };
    await Promise.all(Array.from({ length: 200 }, ask));
    const counts = [rare, usual, late].map(({ requests }) => requests.length);
    // 50 and 150 are expected, with a standard deviation of 6: the bounds are about 6.5 and 8 of it away.
    assert.equal(counts[2], 0);
    assert.ok(Number(counts[0]) > 10 && Number(counts[0]) < 100, `${counts}`);
    fails = true;
    await Promise.all(Array.from({ length: 5 }, ask));
    assert.ok(
      rare.requests.length >= Number(counts[0]) + 5,
      'the other route of the same priority comes before those of the next',
    );
    assert.equal(late.requests.length, 0);
  });
});
