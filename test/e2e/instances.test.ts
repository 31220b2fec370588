import assert from 'node:assert/strict';
import { silentLogger } from '../../src/base/logger.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { inTime } from '../support/in-time.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { hang, type ScriptedProvider, stallAfter, turn } from '../support/scripted-provider.ts';
import { SseReader } from '../support/sse-reader.ts';
import { patience } from '../support/time-limit.ts';
import {
  freshDatabase,
  HEADERS,
  headersOf,
  type Instances,
  KEY,
  startInstances,
  submit,
} from '../support/two-instances.ts';

/** Architecture, "Executor": an abandoned run is taken over within this time, in milliseconds. */
const TAKEOVER_MS = 6000;
/** Keys of one test each. */
const LEAVING = 'sk-leaving';
const LIMITED = 'sk-limited';

describe('two instances over one Redis', function () {
  // Instances are killed and frozen, and come back.
  this.timeout(patience(60));
  const stack = new AsyncDisposableStack();
  let redis: RedisServer;
  let instances: Instances;
  let provider: ScriptedProvider;
  /** The instances, in the order of their names. */
  let first: GatewayProcess;
  let second: GatewayProcess;
  before(async function () {
    redis = stack.use(await redisOrSkip(this));
    const keys = [
      { id: 'ann', secret: KEY },
      { id: 'leaving', secret: LEAVING },
      { id: 'limited', secret: LIMITED, limits: { concurrent_runs: 2 } },
    ];
    const storeUrl = freshDatabase(redis.url, 0);
    instances = stack.use(await startInstances({ storeUrl, names: ['one', 'two'], config: { keys } }));
    provider = instances.provider;
  });
  after(() => stack.disposeAsync());
  /** Restarts whichever instance is down, and forgets the requests of the provider. */
  const bothRun = async () => {
    provider.requests.length = 0;
    await instances.restart();
    const [one, two] = instances.gateways.values();
    assert.ok(one && two);
    [first, second] = [one, two];
  };
  beforeEach(bothRun);

  const streamOf = (gateway: { url: string }, id: string, after = 0) =>
    SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true&after=${after}`, { headers: HEADERS });

  it('take over runs within six seconds of kill -9, and a reader resumes elsewhere, byte for byte', async () => {
    await inTime(TAKEOVER_MS, 'a takeover', takeOver);
  });

  /** How long the takeover took, in milliseconds. */
  async function takeOver(): Promise<number> {
    await bothRun();
    provider.respond = () => stallAfter(4, { text: 'one two three four five six', chunks: 6 });
    const id = await submit(first);
    const { name, gateway } = instances.senderOf(await provider.waitForRequest(1));
    const survivor = instances.other(name);
    const reader = await streamOf(gateway, id);
    await reader.until((events) => events.some((event) => event.type === 'response.output_text.delta'));
    provider.respond = () => turn({ text: 'one two three four five six' });
    const killedAt = performance.now();
    await gateway.kill();
    await provider.waitForRequest(2);
    const took = performance.now() - killedAt;
    await reader.end();
    const seen = reader.events.at(-1)?.sequence_number ?? 0;
    const rest = await streamOf(survivor, id, seen);
    const end = (await rest.end()).at(-1);
    assert.equal(end?.type, 'response.completed');
    assert.equal(end.response.output_text, 'one two three four five six');
    const replay = await streamOf(survivor, id);
    await replay.end();
    assert.equal(Buffer.concat([reader.bytes, rest.bytes]).toString(), replay.bytes.toString());
    return took;
  }

  it('reject appends of an instance that was frozen and woke up', async () => {
    provider.respond = () => stallAfter(2, { text: 'a word or two', chunks: 4 });
    const id = await submit(first);
    const { name, gateway } = instances.senderOf(await provider.waitForRequest(1));
    provider.respond = () => turn({ text: 'a word or two' });
    gateway.child.kill('SIGSTOP');
    const end = (await (await streamOf(instances.other(name), id)).end()).at(-1);
    assert.equal(end?.type, 'response.completed');
    gateway.child.kill('SIGCONT');
    await eventually('it lets go', () => gateway.log.find((line) => line.includes('"result":"lost"')));
    const replay = await streamOf(gateway, id);
    assert.equal((await replay.end()).filter((event) => event.type === 'response.completed').length, 1);
    assert.equal(provider.requests.length, 2);
  });

  it('hand their runs over when they stop', async () => {
    provider.respond = () => stallAfter(4, { reasoning: 'I am not done with this', text: 'at all', chunks: 4 });
    const id = await submit(first);
    const { name, gateway } = instances.senderOf(await provider.waitForRequest(1));
    const reader = await streamOf(gateway, id);
    await reader.until((events) => events.length > 3);
    provider.respond = () => turn({ text: 'quick' });
    assert.equal(await gateway.terminate(), 0);
    await provider.waitForRequest(2);
    assert.ok(!(await reader.end()).some((event) => event.type === 'response.failed'));
    const end = (await (await streamOf(instances.other(name), id)).end()).at(-1);
    assert.equal(end?.type, 'response.completed');
    assert.ok(gateway.log.some((line) => line.includes('"result":"released"')));
  });

  it('cancel each other’s runs, and abort the call to the provider within a second', async () => {
    provider.respond = () => hang();
    await inTime(1000, 'leaving the provider', async () => {
      const number = provider.requests.length + 1;
      const id = await submit(first);
      const request = await provider.waitForRequest(number);
      const { name } = instances.senderOf(request);
      const cancelledAt = performance.now();
      const url = `${instances.other(name).url}/v1/responses/${id}/cancel`;
      const response = await fetch(url, { method: 'POST', headers: HEADERS });
      assert.equal(((await response.json()) as { status: string }).status, 'cancelled');
      assert.equal((await request.closed).left, true);
      return performance.now() - cancelledAt;
    });
  });

  it('drive a chat completion where its connection is, and abort the calls of an instance that dies', async () => {
    provider.respond = () => hang();
    const asking = Array.from({ length: 4 }, (_, n) => {
      const body = JSON.stringify({ model: 'researcher', messages: [{ role: 'user', content: `Hello ${n}?` }] });
      return fetch(`${first.url}/v1/chat/completions`, { method: 'POST', headers: HEADERS, body }).catch(() => {});
    });
    await provider.waitForRequest(4);
    for (const request of provider.requests) assert.equal(instances.senderOf(request).gateway, first);
    await first.kill();
    await Promise.all(asking);
    for (const { closed } of provider.requests) assert.deepEqual(await closed, { left: true });
  });

  it('fail the chat completions of an instance that died, instead of paying for them again', async () => {
    provider.respond = () => hang();
    const body = JSON.stringify({ model: 'researcher', messages: [{ role: 'user', content: 'Hello?' }] });
    const asking = fetch(`${first.url}/v1/chat/completions`, { method: 'POST', headers: headersOf(LEAVING), body });
    asking.catch(() => {});
    const { gateway } = instances.senderOf(await provider.waitForRequest(1));
    await gateway.kill();
    const { runs } = await openRedisStore({ url: freshDatabase(redis.url, 0), log: silentLogger });
    const failed = await eventually('the run has failed', async () => {
      const page = await runs.list({ user: 'leaving', api: 'chat_completions', limit: 1 });
      return page.runs.find((run) => run.status === 'failed');
    });
    const log = await runs.readLast(failed.id);
    assert.match(Buffer.from(log?.frames ?? []).toString(), /"code":"run_crashed"/);
    assert.equal(provider.requests.length, 1);
    await runs.close();
  });

  it('share the limits of a key, and release the slots of an instance that died', async () => {
    provider.respond = () => hang();
    await submit(first, { key: LIMITED });
    await submit(second, { key: LIMITED });
    await assert.rejects(submit(first, { key: LIMITED }), /status 429/);
    await assert.rejects(submit(second, { key: LIMITED }), /status 429/);
    await provider.waitForRequest(2);
    provider.respond = () => turn({ text: 'done' });
    // Either may drive the run: its slot is released when another instance has ended the run.
    const { gateway: victim } = instances.senderOf(await provider.waitForRequest(1));
    await victim.kill();
    const survivor = victim === first ? second : first;
    await eventually('a place is free', async () => await submit(survivor, { key: LIMITED }).catch(() => undefined));
  });
});

describe('a second gateway on the same folder', function () {
  // Instances are killed and frozen, and come back.
  this.timeout(patience(60));
  it('refuses to start, and names Redis as the way to run several', async () => {
    await using folder = await gatewayFolder();
    const config = {
      server: { port: 0 },
      store: { url: `file:${folder.path}/data` },
      providers: { demo: { builtin: 'demo' } },
      models: { demo: { kind: 'research', routes: [{ provider: 'demo', model: 'demo' }], research: { tools: [] } } },
      keys: [{ id: 'a', secret: 'sk-a' }],
    };
    await using _ = await startGatewayProcess(config, { folder: folder.path });
    await assert.rejects(startGatewayProcess(config, { folder: folder.path }), (error: Error) => {
      assert.match(error.message, /the gateway ended with 1:/);
      assert.match(error.message, /redis/i);
      return true;
    });
  });
});
