import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import { redisOrSkip } from '../support/redis.ts';
import { turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';
import { freshDatabase, HEADERS, type Instances, startInstances } from '../support/two-instances.ts';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

const MINUTE = 60_000;
/** What requests and processes may take, in milliseconds: far less than the clocks differ by. */
const MOMENT = MINUTE;

describe('instances whose clocks differ by ten minutes', function () {
  // Processes are started and killed, and a receiver is told again five seconds after it failed.
  this.timeout(patience(60));
  const stack = new AsyncDisposableStack();
  let instances: Instances;
  let receiver: WebhookReceiver;
  let ahead: GatewayProcess;
  let behind: GatewayProcess;

  const findInstances = () => {
    const [one, two] = [instances.gateways.get('ahead'), instances.gateways.get('behind')];
    assert.ok(one && two);
    [ahead, behind] = [one, two];
  };
  const ask = async (gateway: GatewayProcess, path: string, body?: object, headers = HEADERS) => {
    const post = body && { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(gateway.url + path, { headers, ...post });
    return { status: answer.status, json: JSON.parse(await answer.text()) };
  };

  before(async function () {
    const redis = stack.use(await redisOrSkip(this));
    receiver = stack.use(await startReceiver((_, n) => (n === 0 ? 500 : 204)));
    instances = stack.use(
      await startInstances({
        storeUrl: freshDatabase(redis.url, 0),
        names: ['ahead', 'behind'],
        clockOffsetsMs: { ahead: 5 * MINUTE, behind: -5 * MINUTE },
        config: {
          keys: [{ id: 'ann', secret: HEADERS.authorization.slice('Bearer '.length), admin: true }],
          webhooks: { allow_hosts: ['127.0.0.1'] },
        },
      }),
    );
    instances.provider.respond = () => turn({ text: 'So it is.' });
    findInstances();
  });
  after(() => stack.disposeAsync());

  it('know of each other, and report the same time', async () => {
    const times: number[] = [];
    for (const gateway of [ahead, behind]) {
      const overview = await eventually('both are known', async () => {
        const { json } = await ask(gateway, '/admin/overview');
        return json.instances.length === 2 ? json : undefined;
      });
      times.push(overview.time * 1000);
    }
    for (const time of times) assert.ok(Math.abs(time - Date.now()) < MOMENT, `${times}`);
  });

  it('accept a key until it expires, and its former secret during the overlap', async () => {
    const works = (gateway: GatewayProcess, secret: string) =>
      eventually('the key is known', async () => {
        const { status } = await ask(gateway, '/v1/models', undefined, {
          ...HEADERS,
          authorization: `Bearer ${secret}`,
        });
        return status === 200 || undefined;
      });
    const expires = (inMs: number) => new Date(Date.now() + inMs).toISOString();
    const made = (id: string, inMs: number) => ask(behind, '/admin/keys', { id, expires_at: expires(inMs) });
    const { json: key } = await made('lasting', 3 * MINUTE);
    for (const gateway of [ahead, behind]) await works(gateway, key.secret);

    const { json: over } = await made('over', -3 * MINUTE);
    const rotated = await ask(behind, '/admin/keys/lasting/rotate', { overlap_seconds: 120 });
    for (const gateway of [ahead, behind]) {
      await works(gateway, rotated.json.secret);
      await works(gateway, key.secret);
      const shown = { ...HEADERS, authorization: `Bearer ${over.secret}` };
      const refused = await eventually('the other key is known', async () => {
        const { json } = await ask(gateway, '/v1/models', undefined, shown);
        return /expired/.test(json.error?.message ?? JSON.stringify(json.object)) ? json.error : undefined;
      });
      assert.equal(refused.code, 'invalid_api_key');
    }
  });

  it('date a response consistently, whichever instance answers', async () => {
    for (const gateway of [ahead, behind]) {
      const { json } = await ask(gateway, '/v1/responses', { model: 'researcher', input: 'Why?', stream: false });
      const { created_at, started_at, completed_at } = json;
      assert.ok(Math.abs(created_at * 1000 - Date.now()) < MOMENT, JSON.stringify(json));
      assert.ok(created_at <= started_at && started_at <= completed_at, `${[created_at, started_at, completed_at]}`);
    }
    const { json: list } = await ask(behind, '/v1/responses');
    const dates = list.data.map((run: { created_at: number }) => run.created_at);
    assert.deepEqual(
      dates,
      dates.toSorted((a: number, b: number) => b - a),
      'newest first',
    );
  });

  it('retry a webhook when it is due, even if another instance made the first attempt', async () => {
    await behind.kill();
    const webhook = { url: receiver.url };
    const run = { model: 'researcher', input: 'Why?', background: true, webhook };
    const { json: created } = await ask(ahead, '/v1/responses', run);
    await receiver.waitFor(1);
    const { data } = await eventually('the failure is written', async () => {
      const { json } = await ask(ahead, `/v1/webhook_deliveries?run=${created.id}`);
      return json.data?.[0]?.attempts.length === 1 ? json : undefined;
    });
    await ahead.kill();
    await instances.restart();
    findInstances();
    const [, again] = await receiver.waitFor(2);
    assert.equal(again?.headers['webhook-id'], data[0].event.id);
    const signedAt = Number(again?.headers['webhook-timestamp']) * 1000;
    assert.ok(Math.abs(signedAt - Date.now()) < MOMENT, 'a receiver would take it for a replay');
  });
});
