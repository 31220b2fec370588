import assert from 'node:assert/strict';
import { send } from '../../support/http-client.ts';
import { openGateway, type TestGateway } from '../../support/http-gateway.ts';
import { redisOrSkip } from '../../support/redis.ts';
import { type SentinelGroup, startSentinels } from '../../support/redis-groups.ts';
import { patience } from '../../support/time-limit.ts';

const CALLER = { user: 'ann', keyId: 'ann' };
/** Concurrent runs, pollers of each run, and polls of each poller after the end. */
const AT_ONCE = 8;
const POLLERS = 4;
const BEHIND = 2;

/** Polls a run once and returns its status. */
type Poll = (at: TestGateway, id: string) => Promise<string>;

/** Polls as an endpoint does, but without HTTP, for more polls in the same time. */
const direct: Poll = async ({ runs }, id) =>
  JSON.parse(await runs.taskJson(await runs.find(CALLER, 'async', id))).status;
const directResponse: Poll = async ({ runs }, id) => {
  const run = await runs.find(CALLER, 'responses', id.replace('task_', 'resp_'));
  return JSON.parse(String(await runs.responseJson(run))).status.toUpperCase();
};
const overHttp: Poll = async (at, id) => {
  const { status, text, json } = await send(at, `GET /v1/async/${id}`);
  assert.equal(status, 200, text);
  return String(json.status);
};

describe('polling accepted runs over a Redis with a replica', function () {
  // Servers are started as processes.
  this.timeout(patience(30));
  let group: SentinelGroup;
  let here: TestGateway;
  let there: TestGateway;
  before(async function () {
    await (await redisOrSkip(this))[Symbol.asyncDispose]();
    group = await startSentinels();
    const store = { url: group.url, replicas: 1 };
    here = await openGateway({ store });
    there = await openGateway({ store });
  });
  after(async () => {
    await here?.[Symbol.asyncDispose]();
    await there?.[Symbol.asyncDispose]();
    await group?.[Symbol.asyncDispose]();
  });

  /** Submits runs and polls them at both instances until after their end, until there were `polls` polls. */
  async function pollAroundEnds(polls: number, ask: Poll): Promise<void> {
    let pollCount = 0;
    const poller = async (at: TestGateway, id: string) => {
      for (let behind = 0; behind < BEHIND; pollCount++) if ((await ask(at, id)) === 'COMPLETED') behind++;
    };
    const runs = async () => {
      while (pollCount < polls) {
        const { status, text, json } = await send(here, 'POST /v1/async', {
          body: { model: 'deep', messages: [{ role: 'user', content: 'Why?' }] },
        });
        assert.equal(status, 201, text);
        await Promise.all(Array.from({ length: POLLERS }, (_, n) => poller(n % 2 ? here : there, String(json.id))));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, runs));
  }

  it('finds them at every moment: 4 000 polls of tasks', async () => {
    await pollAroundEnds(4000, direct);
  });

  it('finds them at every moment: 4 000 polls of responses', async () => {
    await pollAroundEnds(4000, directResponse);
  });

  it('gets 200 over HTTP, a thousand times', async () => {
    await pollAroundEnds(1000, overHttp);
  });
});
