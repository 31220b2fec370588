import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { webhookKey } from '../../../src/base/secrets/webhook-secret.ts';
import { webhookHeaders } from '../../../src/webhooks/signature.ts';

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes ...').toString('base64')}`;
const OTHER = 'a plain secret of a client';
const BODY = JSON.stringify({
  id: 'evt_1',
  object: 'event',
  type: 'response.completed',
  created_at: 1,
  data: { id: 'é' },
});
const message = () => ({ id: 'evt_1', timestamp: Math.floor(Date.now() / 1000), body: BODY });

describe('a webhook signature', () => {
  const client = new OpenAI({ apiKey: 'none' });

  it("verifies with OpenAI's SDK, for a base64 secret and a plain one", async () => {
    for (const secret of [SECRET, OTHER]) {
      const event = await client.webhooks.unwrap(BODY, webhookHeaders(message(), [secret]), secret);
      assert.equal(event.type, 'response.completed');
    }
  });

  it('verifies with each of several secrets', async () => {
    const headers = webhookHeaders(message(), [SECRET, OTHER]);
    for (const secret of [SECRET, OTHER]) await client.webhooks.unwrap(BODY, headers, secret);
    await assert.rejects(client.webhooks.unwrap(BODY, headers, `${OTHER}!`));
    await assert.rejects(client.webhooks.unwrap(`${BODY} `, headers, SECRET), 'another body');
  });

  it('matches the published example', () => {
    const headers = webhookHeaders(
      { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' },
      ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    );
    assert.deepEqual(headers, {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('is left out without a secret', () => {
    assert.deepEqual(Object.keys(webhookHeaders(message(), [])), ['webhook-id', 'webhook-timestamp']);
  });

  it('refuses secrets that are too short, too long or not base64', () => {
    for (const bad of ['', 'short', 'whsec_', 'whsec_c2hvcnQ=', 'whsec_not base64 at all!', 'x'.repeat(257)]) {
      assert.equal(webhookKey(bad), undefined, bad);
    }
  });
});
