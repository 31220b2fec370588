import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { silentLogger } from '../../../src/base/logger.ts';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { openRedisStore } from '../../../src/store/redis/open.ts';
import { ending, newRun } from '../../contract/run-store-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { redisOrSkip } from '../../support/redis.ts';
import { ask, type SentinelGroup, startSentinels } from '../../support/redis-groups.ts';
import { openHarness, question, readAll, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';

const WORDS = ['what ', 'was ', 'shown ', 'stays'];

/** A model that calls a tool, waits for `goOn` before it knows enough, and answers. */
function pausingModel(goOn: Promise<void>): ScriptedModel {
  return new ScriptedModel((request) => {
    if (isAnswerTurn(request)) return { text: WORDS };
    if (request.messages.some(({ role }) => role === 'tool')) return { gate: goOn, text: ['I know enough.'] };
    return { reasoning: ['I look.'], calls: [{ name: 'look', arguments: {} }] };
  });
}

describe('a failover to a replica that lacks the last writes', () => {
  let group: SentinelGroup;
  before(async function () {
    await (await redisOrSkip(this))[Symbol.asyncDispose]();
    group = await startSentinels();
  });
  after(() => group?.[Symbol.asyncDispose]());

  it('is repaired by live owners: they resend tails, renew claims and recreate lost runs', async () => {
    const options = { url: group.url, log: silentLogger, prefix: randomUUID(), limitMs: 1000 };
    const { runs: store } = await openRedisStore(options);
    const goOn = Promise.withResolvers<void>();
    const chat = pausingModel(goOn.promise);
    let looks = 0;
    const look = testTool('look', () => ({ result: `seen ${++looks}` }));
    const submissions = { unclaimed: question(), late: question({ repeat: retryKey() }) };

    await using stopped = await openHarness({ chat, tools: [look], store });
    await stopped.executor.stop({ graceMs: 0 });
    const unclaimed = await stopped.runs.submit(submissions.unclaimed);
    await ask(await group.masterPort(), 'WAIT', '1', '2000');
    // From here on the replica learns nothing: it cannot reconnect to its master.
    await ask(group.replica.port, 'CONFIG', 'SET', 'masterauth', 'wrong', 'masteruser', 'nobody');
    await ask(group.master.port, 'CLIENT', 'KILL', 'TYPE', 'replica');

    await using harness = await openHarness({ chat, tools: [look], store });
    const late = await harness.runs.submit(submissions.late);
    const runs = [unclaimed.run, late.run];
    await eventually('both wait for their second turn', () => (chat.requests.length === 4 ? true : undefined));
    const following = runs.map((run) => readAll(harness.runs, run));
    const shown = await Promise.all(runs.map((run) => store.readLast(run.id)));
    for (const batch of shown) assert.ok((batch?.last ?? 0) > 4);

    await group.master.kill();
    await eventually('the replica is the master', async () =>
      (await group.masterPort()) === group.replica.port ? true : undefined,
    );
    await ask(group.replica.port, 'CONFIG', 'SET', 'masterauth', '', 'masteruser', '');
    const lost = await ask(group.replica.port, 'EXISTS', `${options.prefix}:{${late.run.id}}:run`);
    assert.equal(lost, 0, 'the failover lost a run as a whole');
    goOn.resolve();

    for (const [index, run] of runs.entries()) {
      const seen = (await following[index]) ?? Buffer.alloc(0);
      const events = decodeFrames(seen);
      assert.deepEqual(
        events.map((event) => event.sequence_number),
        events.map((_, at) => at + 1),
      );
      const end = events.at(-1);
      assert.ok(end?.type === 'response.completed' && end.response.output_text === WORDS.join(''));
      assert.equal((await readAll(harness.runs, run)).toString(), seen.toString());
    }
    assert.equal(looks, 2, 'no tool call was made again');
    assert.equal(chat.requests.length, 6, 'no turn was paid for again');
    const again = await harness.runs.submit(submissions.late);
    assert.deepEqual([again.replayed, again.run.id], [true, late.run.id], 'a retry still finds its run');
    const listed = await store.list({ user: late.run.user, api: 'responses', limit: 10 });
    assert.deepEqual(listed.runs.map(({ id }) => id).sort(), runs.map(({ id }) => id).sort());
    await store.close();
  });

  it('does not bring back runs that were deleted or belong to another owner', async () => {
    const { runs: store } = await openRedisStore({ url: group.url, log: silentLogger, prefix: randomUUID() });
    assert.ok(store.restore);
    for (const fate of ['deleted', 'ended elsewhere and deleted', 'held'] as const) {
      const run = newRun();
      await store.create(run);
      const claim = await store.claim(run.id, { leaseMs: 60_000, force: true });
      const other = fate === 'deleted' ? undefined : await store.claim(run.id, { leaseMs: 60_000, force: true });
      if (fate === 'ended elsewhere and deleted')
        await store.append(run.id, ending(other?.token ?? '', 3, 'cancelled'));
      if (fate !== 'held') assert.equal(await store.delete(run.id), true);
      const lost = {
        ...run,
        token: claim?.token ?? '',
        leaseMs: 60_000,
        startedAt: 1,
        cancelRequested: false,
        transcript: [],
      };
      assert.equal(await store.restore(lost), 'exists', fate);
    }
    await store.close();
  });
});

function retryKey() {
  return { kind: 'retry' as const, hash: 'ab12', fingerprint: 'cd34', ttlMs: 60_000, sentBefore: true };
}
