import assert from 'node:assert/strict';
import { loadConfig, startGateway } from '../../../src/index.ts';
import { areCollected } from '../../support/collect-garbage.ts';
import { patience } from '../../support/time-limit.ts';

async function startedAndClosed(): Promise<WeakRef<object>> {
  const config = await loadConfig(undefined, { variables: { PORT: '0', GATEWAY_API_KEY: 'sk-own' } });
  const own = { ...config, store: { ...config.store, url: 'memory:' } };
  await using gateway = await startGateway(own, { log: { write() {} } });
  const [model] = Object.keys(config.models);
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-own', 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'What is a route?' }] }),
  });
  assert.equal(answer.status, 200);
  await answer.text();
  return new WeakRef(own);
}

describe('a gateway in a program', function () {
  // A whole gateway starts, researches and stops.
  this.timeout(patience(30));

  it('leaves nothing behind when it is closed', async () => {
    assert.ok(await areCollected([await startedAndClosed()]));
  });
});
