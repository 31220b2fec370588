import assert from 'node:assert/strict';
import { QueryThread } from '../../../src/tools/web-search/local/query-thread.ts';

/** Crashes if asked to; otherwise echoes the query. */
const THREAD = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ id, say }) => {
    if (say === 'broken') throw new Error('broken');
    parentPort.postMessage({ id, value: say });
  });`;

describe('QueryThread', () => {
  it('answers the next query right after the thread crashed', async () => {
    using thread = new QueryThread<{ say: string }, string>({
      entry: new URL(`data:text/javascript,${encodeURIComponent(THREAD)}`),
      data: {},
      maxPending: 2,
      embeddings: () => undefined,
      log: undefined,
      where: {},
      failure: (why) => new Error(why),
    });
    await assert.rejects(thread.ask({ say: 'broken' }), { message: 'broken' });
    assert.equal(await thread.ask({ say: 'here' }), 'here');
  });
});
