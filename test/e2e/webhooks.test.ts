import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import OpenAI from 'openai';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { until } from '../support/http-gateway.ts';
import { json, type ScriptedProvider, startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';
import { type ReceiverReply, startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

const KEYS = { ann: 'sk-ann-of-the-webhooks', bob: 'sk-bob-of-the-webhooks' };
const KEY_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SECRET = 'a secret that only this client knows';

function configOf(provider: { url: string }, { storeUrl, receiverUrl }: { storeUrl: string; receiverUrl: string }) {
  const routes = [{ provider: 'scripted', model: 'm' }];
  return {
    server: { port: 0 },
    store: { url: storeUrl },
    providers: { scripted: { base_url: provider.url, api_key: 'sk-provider' } },
    models: {
      deep: { kind: 'research', routes, research: { tools: [] } },
      plain: { kind: 'proxy', routes, apis: ['chat_completions', 'responses', 'async'] },
    },
    keys: [
      { id: 'ann', secret: KEYS.ann, webhook: { url: `${receiverUrl}/key`, secret: KEY_SECRET } },
      { id: 'bob', secret: KEYS.bob },
    ],
    webhooks: { allow_hosts: ['127.0.0.1'] },
  };
}

const COMPLETION = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'The answer.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
};
const jsonOf = async (answer: Response) => JSON.parse(await answer.text());

describe('webhooks', function () {
  // Gateways are started, killed and started again.
  this.timeout(patience(60));

  const stack = new AsyncDisposableStack();
  let provider: ScriptedProvider;
  let receiver: WebhookReceiver;
  let folder: string;
  let start: () => Promise<GatewayProcess>;
  let gateway: GatewayProcess;
  let says: ReceiverReply;
  before(async () => {
    provider = stack.use(
      await startScriptedProvider({
        respond: ({ body }) => (body.stream ? turn({ text: 'The answer.' }) : json(COMPLETION)),
      }),
    );
    receiver = stack.use(await startReceiver(() => says));
    folder = stack.use(await gatewayFolder()).path;
    const config = configOf(provider, { storeUrl: `file:${join(folder, 'data')}`, receiverUrl: receiver.url });
    start = () => startGatewayProcess(config, { folder });
    gateway = await start();
    stack.defer(() => gateway[Symbol.asyncDispose]());
  });
  after(() => stack.disposeAsync());
  beforeEach(() => {
    says = 204;
    receiver.messages.length = 0;
  });
  const call = (path: string, { key = KEYS.ann, body }: { key?: string; body?: object } = {}) =>
    fetch(`${gateway.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });

  it('report responses and tasks of every kind of model, and the official SDK accepts them', async () => {
    const webhook = { url: `${receiver.url}/own`, secret: SECRET };
    const ids: string[] = [];
    for (const model of ['deep', 'plain']) {
      const response = await call('/v1/responses', { body: { model, input: 'Hi', background: true, webhook } });
      assert.equal(response.status, 200, await response.clone().text());
      ids.push((await jsonOf(response)).id);
      const messages = [{ role: 'user', content: 'Hi' }];
      const task = await call('/v1/async', { body: { model, messages, webhook } });
      assert.equal(task.status, 201, await task.clone().text());
      ids.push((await jsonOf(task)).id);
    }
    const client = new OpenAI({ apiKey: KEYS.ann, baseURL: `${gateway.url}/v1` });
    const notified = { '/own': new Set<string>(), '/key': new Set<string>() };
    for (const { path, body, headers } of await receiver.waitFor(8)) {
      const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
      await client.webhooks.unwrap(body, sent, path === '/own' ? SECRET : KEY_SECRET);
      const event = JSON.parse(body);
      assert.match(event.type, /^(response|task)\.completed$/);
      notified[path === '/own' ? '/own' : '/key'].add(event.data.id);
    }
    assert.deepEqual([[...notified['/own']].sort(), [...notified['/key']].sort()], [ids.toSorted(), ids.toSorted()]);
    const sent = JSON.stringify(provider.requests.map(({ body }) => body));
    assert.ok(!sent.includes('webhook') && !sent.includes(SECRET), 'a provider knows nothing of it');
    const streamed = await client.responses.retrieve(ids[0] ?? '');
    assert.equal(streamed.status, 'completed');
  });

  it('are listed and redelivered for their user alone', async () => {
    says = 410;
    const body = { model: 'deep', input: 'Hi', background: true };
    const { id } = await jsonOf(await call('/v1/responses', { body }));
    const list = async () => (await jsonOf(await call(`/v1/webhook_deliveries?run=${id}`))).data;
    const failed = await until(async () => {
      const [delivery] = await list();
      return delivery?.status === 'failed' ? delivery : undefined;
    });
    assert.equal(failed.attempts[0].status_code, 410);
    assert.equal(failed.run, id);
    for (const path of [`/v1/webhook_deliveries?run=${id}`, '/v1/webhook_deliveries?run=resp_other']) {
      assert.equal((await call(path, { key: KEYS.bob })).status, 404);
    }
    const again = `/v1/webhook_deliveries/${failed.id}/redeliver`;
    assert.equal((await call(again, { key: KEYS.bob, body: {} })).status, 404);
    says = 200;
    assert.equal((await call(again, { body: {} })).status, 200);
    await receiver.waitFor(2);
    await until(async () => ((await list())[0].status === 'delivered' ? true : undefined));
    assert.equal((await call('/v1/webhook_deliveries')).status, 400);
    assert.equal((await call('/v1/webhook_deliveries/whd_x/redeliver', { body: {} })).status, 404);
  });

  it('are delivered again after kill -9 in the middle of a delivery', async () => {
    says = 'nothing';
    const body = { model: 'deep', input: 'Hi', background: true };
    const { id } = await jsonOf(await call('/v1/responses', { body }));
    await receiver.waitFor(1);
    await gateway.kill();
    says = 204;
    gateway = await start();
    // The killed instance holds the delivery for a minute, but a redelivery need not wait.
    const again = `/v1/webhook_deliveries/whd_${id}_key/redeliver`;
    await until(async () => {
      await call(again, { body: {} });
      return receiver.messages.length >= 2 || undefined;
    });
    const [first, second] = receiver.messages;
    assert.equal(first?.body, second?.body);
    assert.equal(first?.headers['webhook-id'], second?.headers['webhook-id']);
  });

  it('are rejected if invalid, or for requests that are not in the background', async () => {
    const ask = async (path: string, body: object) => {
      const answer = await call(path, { body });
      return [answer.status, (await jsonOf(answer)).error?.param];
    };
    const webhook = { url: 'https://example.com/hook' };
    const input = { model: 'deep', input: 'Hi' };
    const messages = [{ role: 'user', content: 'Hi' }];
    assert.deepEqual(await ask('/v1/responses', { ...input, webhook }), [400, 'webhook']);
    assert.deepEqual(await ask('/v1/chat/completions', { model: 'deep', messages, webhook }), [400, 'webhook']);
    const bad = [
      [{ url: 'ftp://example.com' }, 'webhook.url'],
      [{ url: 'https://user:pass@example.com' }, 'webhook.url'],
      [{ url: 'nowhere' }, 'webhook.url'],
      [{}, 'webhook.url'],
      [{ ...webhook, secret: 'short' }, 'webhook.secret'],
      [{ ...webhook, secrets: ['x'] }, 'webhook.secrets'],
    ] as const;
    for (const [given, param] of bad) {
      assert.deepEqual(await ask('/v1/responses', { ...input, background: true, webhook: given }), [400, param]);
      for (const model of ['deep', 'plain']) {
        assert.deepEqual(await ask('/v1/async', { model, messages, webhook: given }), [400, param]);
      }
    }
  });

  // This test comes last because it stops the gateway.
  it('leave no secret in the store or the log', async () => {
    const body = {
      model: 'deep',
      input: 'Hi',
      background: true,
      webhook: { url: `${receiver.url}/?token=s3cret-of-the-address`, secret: SECRET },
    };
    const { id } = await jsonOf(await call('/v1/responses', { body }));
    await receiver.waitFor(2);
    const shown = await (await call(`/v1/webhook_deliveries?run=${id}`)).text();
    await gateway.terminate();
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const stored = files.filter((file) => file.isFile() && !file.name.endsWith('.yaml'));
    const texts = await Promise.all(stored.map((file) => readFile(join(file.parentPath, file.name), 'latin1')));
    for (const text of [...texts, gateway.log.join('\n'), shown]) {
      assert.ok(!text.includes(SECRET) && !text.includes('s3cret-of-the-address') && !text.includes(KEY_SECRET));
    }
  });
});
