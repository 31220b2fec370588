import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { GatewayError } from '../../../src/base/errors.ts';
import { runInScope, workOwner } from '../../../src/base/load/event-loop.ts';
import { SchemaChecks } from '../../../src/research/answer/schema/schema-checks.ts';
import { requireUsableSchema } from '../../../src/research/answer/schema/structured.ts';
import { isSlow } from '../../support/fair-time.ts';
import { send } from '../../support/http-client.ts';
import { openGateway } from '../../support/http-gateway.ts';
import { schemaBombs } from '../../support/schema-bombs.ts';
import { patience } from '../../support/time-limit.ts';

const PARAM = 'text.format.schema';
const ENDLESS = { schema: { pattern: '^(a+)+$' }, value: `${'a'.repeat(60)}!` };
const { signal } = new AbortController();

describe('JSON schemas of clients', function () {
  // Checks run into their limit of time.
  this.timeout(patience(30));
  let schemas: SchemaChecks;
  beforeEach(() => {
    schemas = new SchemaChecks();
  });
  afterEach(() => schemas[Symbol.dispose]());

  it('are compiled in another process, with limits on time and memory', async () => {
    schemas = new SchemaChecks({ jobMs: 300 });
    const spent = process.threadCpuUsage();
    const before = process.memoryUsage().rss;
    for (const { name, schema } of schemaBombs()) {
      const format = { type: 'json_schema', name, schema, strict: undefined, description: undefined } as const;
      await requireUsableSchema(format, { param: PARAM, schemas, signal }).catch((error: unknown) => {
        // On a busy machine the time may be up before a schema is judged.
        const isLate = error instanceof GatewayError && error.code === 'overloaded';
        assert.ok(isLate || (error instanceof GatewayError && error.code === 'invalid_parameter'), `${name}: ${error}`);
        if (!isLate) assert.equal(error.param, PARAM);
        assert.ok(error.message.length < 1000, `${name}: a message of ${error.message.length} characters`);
      });
    }
    // On this thread the first bomb alone took twelve seconds. CPU time, because timers are late on a busy machine.
    const { user, system } = process.threadCpuUsage(spent);
    assert.ok(!isSlow((user + system) / 1000, 3000), `this thread worked for ${(user + system) / 1000} ms`);
    assert.ok(process.memoryUsage().rss - before < 400e6, 'memory grew');
  });

  it('that take too long are given up, and the next one gets a fresh process', async () => {
    schemas = new SchemaChecks({ size: 1, jobMs: 300 });
    assert.deepEqual(await schemas.check(ENDLESS, { signal }), { is: 'costly' });
    assert.deepEqual(await schemas.check({ schema: { type: 'string' }, value: 'a' }, { signal }), { is: 'valid' });
  });

  it('are checked by a fresh process if the idle one was killed, also unnoticed', async () => {
    schemas = new SchemaChecks({ size: 1 });
    assert.deepEqual(await schemas.check({ schema: { const: 1 } }, { signal }), { is: 'valid' });
    const listed = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
    const found = listed.match(new RegExp(`\\d+(?= +${process.pid} .*schema-child)`, 'g')) ?? [];
    assert.ok(found.length > 0, listed);
    for (const pid of found) process.kill(Number(pid), 'SIGKILL');
    assert.deepEqual(await schemas.check({ schema: { const: 2 } }, { signal }), { is: 'valid' });
  });

  it('that take too much memory end their process, not the gateway', async () => {
    const huge = { anyOf: Array.from({ length: 2000 }, (_, n) => ({ const: 'x'.repeat(20_000) + n })) };
    const schema = { items: { allOf: Array.from({ length: 400 }, () => huge) } };
    assert.deepEqual(await schemas.check({ schema, value: Array.from({ length: 2000 }, (_, n) => n) }, { signal }), {
      is: 'costly',
    });
  });

  it('wait their turn in a bounded queue', async () => {
    schemas = new SchemaChecks({ size: 1, maxWaiting: 2, jobMs: 300 });
    const order: string[] = [];
    const ask = (name: string) => schemas.check({ schema: { const: name } }, { signal }).then(() => order.push(name));
    const first = schemas.check(ENDLESS, { signal });
    const waiting = [ask('a'), ask('b')];
    await assert.rejects(ask('c'), (error) => error instanceof GatewayError && error.code === 'overloaded');
    await Promise.all([first, ...waiting]);
    assert.deepEqual(order, ['a', 'b']);
  });

  it('wait for other schemas of the same key first', async () => {
    schemas = new SchemaChecks({ size: 1, jobMs: 200 });
    const order: string[] = [];
    const ask = (key: string, job: Parameters<SchemaChecks['check']>[0]) =>
      runInScope({ route: '/', key }, () => schemas.check(job, { signal }).then(() => void order.push(key)));
    const crowd = Array.from({ length: 3 }, () => ask('mallory', ENDLESS));
    await ask('ann', { schema: { const: 'a' } });
    assert.ok(order.length <= 2, order.join());
    await Promise.all(crowd);
  });

  it('are charged to the key that sent them', async () => {
    await using gateway = await openGateway();
    const owners: string[] = [];
    gateway.parts.schemas.check = async () => {
      owners.push(workOwner());
      return { is: 'valid' };
    };
    const text = { format: { type: 'json_schema', name: 'x', schema: { type: 'object' } } };
    for (const key of ['ann', 'bob'] as const) {
      const { status } = await send(gateway, 'POST /v1/responses', {
        key,
        body: { model: 'deep', input: 'hey', text },
      });
      assert.equal(status, 200);
    }
    assert.deepEqual(owners, ['ann', 'bob']);
  });

  it('leave the queue when their client disconnects', async () => {
    schemas = new SchemaChecks({ size: 1, maxWaiting: 1, jobMs: 300 });
    const leaving = new AbortController();
    const first = schemas.check(ENDLESS, { signal });
    const abandoned = schemas.check({ schema: {} }, { signal: leaving.signal });
    leaving.abort(new Error('left'));
    await assert.rejects(abandoned, /left/);
    await Promise.all([first, schemas.check({ schema: {} }, { signal })]);
  });

  it('that were found valid are not compiled again', async () => {
    schemas = new SchemaChecks({ size: 1, jobMs: 300 });
    const job = { schema: { type: 'object' } };
    assert.deepEqual(await schemas.check(job, { signal }), { is: 'valid' });
    const blocking = schemas.check(ENDLESS, { signal });
    let blocked = true;
    void blocking.then(() => {
      blocked = false;
    });
    assert.deepEqual(await schemas.check(job, { signal }), { is: 'valid' });
    assert.ok(blocked, 'it did not wait for a process');
    await blocking;
  });
});
