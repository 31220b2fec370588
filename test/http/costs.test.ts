import assert from 'node:assert/strict';
import { configSchema } from '../../src/config/schema.ts';
import { Admission } from '../../src/http/limits/admission.ts';
import { memoryLimits } from '../../src/store/memory-limits.ts';
import { emptyTotals } from '../../src/upstream/usage-totals.ts';
import { assertRefused, type SendOptions, send } from '../support/http-client.ts';
import { openGateway, until } from '../support/http-gateway.ts';

const PRICE = { input: 2, cached_input: 0.2, output: 10 };
const routes = [{ provider: 'demo', model: 'demo', price: PRICE }];
const models = { priced: { kind: 'research', routes, max_completion_tokens: 1000, context_length: 10_000 } };
const key = 'limited';

function ask(model: string, input: string, fields: object = {}): SendOptions {
  return { key, body: { model, input, background: true, ...fields } };
}

describe('max_cost', () => {
  it('is refused if the model has no price, or if it is invalid or too low', async () => {
    await using gateway = await openGateway({ models });
    const priceless = await send(gateway, 'POST /v1/responses', ask('deep', 'hello', { max_cost: 1 }));
    assertRefused(priceless, { status: 400, code: 'unsupported_parameter', param: 'max_cost' });
    for (const max_cost of [0.0005, 0, -1, '1']) {
      const refused = await send(gateway, 'POST /v1/responses', ask('priced', 'hello', { max_cost }));
      assertRefused(refused, { status: 400, code: 'invalid_parameter', param: 'max_cost' });
    }
    const long = await send(gateway, 'POST /v1/responses', ask('priced', 'word '.repeat(8000), { max_cost: 0.01 }));
    assertRefused(long, { status: 400, code: 'invalid_parameter', param: 'max_cost' });
    const { status, headers } = await send(gateway, 'POST /v1/responses', ask('priced', 'hello', { max_cost: 0.1 }));
    assert.equal(status, 200);
    assert.equal(headers.get('x-ignored-parameters'), null);
    const messages = [{ role: 'user', content: 'hello' }];
    const chat = await send(gateway, 'POST /v1/chat/completions', {
      key,
      body: { model: 'deep', messages, max_cost: 1 },
    });
    assertRefused(chat, { status: 400, code: 'unsupported_parameter', param: 'max_cost' });
  });
});

describe('max_cost of a plain response', () => {
  it('is refused, because nothing would hold it', async () => {
    const plain = { ...models.priced, kind: 'proxy', responses: 'gateway', apis: ['responses'] };
    await using gateway = await openGateway({ models: { plain } });
    const refused = await send(gateway, 'POST /v1/responses', ask('plain', 'hello', { max_cost: 0.1 }));
    assertRefused(refused, { status: 400, code: 'unsupported_parameter', param: 'max_cost' });
  });
});

describe('cost_per_day', () => {
  it('is reserved by runs, and released when they end unused', async () => {
    await using gateway = await openGateway({ models, limits: { cost_per_day: 1 } });
    const wait = ask('priced', 'wait', { max_cost: 0.6 });
    const first = await send(gateway, 'POST /v1/responses', wait);
    assert.equal(first.status, 200);
    const second = await send(gateway, 'POST /v1/responses', wait);
    assertRefused(second, { status: 429, code: 'quota_exceeded', type: 'rate_limit_error' });
    assert.deepEqual([second.headers.get('x-should-retry'), second.headers.get('retry-after')], ['false', '2']);
    assert.equal((await send(gateway, 'POST /v1/responses', ask('deep', 'wait'))).status, 200, 'without a price');
    await send(gateway, `POST /v1/responses/${first.json.id}/cancel`, { key });
    await until(async () => ((await send(gateway, 'POST /v1/responses', wait)).status === 200 ? true : undefined));
  });

  it('is settled with the actual cost of a run, and refuses once it is spent', async () => {
    const config = configSchema.shape.keys.element.parse({ id: 'k', secret: 'sk-k', limits: { cost_per_day: 1 } });
    const admission = new Admission(memoryLimits(() => Date.now()));
    const run = async (id: string, cost: number) =>
      await admission.admit({ key: config, id, runMs: 1000, tokens: 1, cost });
    const used = async () => (await admission.usage(config)).find(({ name }) => name === 'cost_per_day')?.used;
    const { held } = await run('a', 0.9);
    assert.equal(await used(), 0.9);
    await admission.settleRun({ id: 'a', keyId: 'k', held, used: { ...emptyTotals(), outputTokens: 10, cost: 0.25 } });
    assert.equal(await used(), 0.25);
    const alone = await run('b', 0.9);
    assert.equal(await used(), 1.15, 'a run that is alone may exceed what is left');
    await admission.settleRun({
      id: 'b',
      keyId: 'k',
      held: alone.held,
      used: { ...emptyTotals(), outputTokens: 10, cost: 0.8 },
    });
    await assert.rejects(run('c', 0.1), { code: 'quota_exceeded' });
    assert.equal(await used(), 1.05);
  });
});
