import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { silentLogger } from '../../../src/base/logger.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { createLiveToolbox } from '../../../src/tools/live-toolbox.ts';
import type { Toolbox, ToolRequest } from '../../../src/tools/toolbox.ts';

const CONFIG = configSchema.shape.tools.parse({});
const REQUEST: ToolRequest = {
  builtin: [],
  allowedDomains: [],
  configuredMcp: false,
  mcpServers: [],
  log: silentLogger,
  signal: new AbortController().signal,
};

describe('the live toolbox', () => {
  it('closes a replaced toolbox once its last run has left, and not before', async () => {
    const { live, closed } = counted();
    const first = await live.open(REQUEST);
    const second = await live.open(REQUEST);
    live.update(CONFIG);
    await first[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    assert.deepEqual(closed, [], 'one run still uses it, and leaving twice counts once');
    await second[Symbol.asyncDispose]();
    await nextTurn();
    assert.deepEqual(closed, [1]);
    await live.open(REQUEST);
    await live[Symbol.asyncDispose]();
    assert.deepEqual(closed, [1, 2]);
  });

  it('closes a replaced toolbox only once its documents are read', async () => {
    const reading = Promise.withResolvers<{ title: string; content: string }>();
    const { live, closed } = counted({ read: () => reading.promise });
    const { signal, log } = REQUEST;
    const read = live.read('https://a.test/', { signal, log });
    await nextTurn();
    live.update(CONFIG);
    await nextTurn();
    assert.deepEqual(closed, [], 'a document is being read with it');
    reading.resolve({ title: 'A', content: 'text' });
    assert.equal((await read).title, 'A');
    await nextTurn();
    assert.deepEqual(closed, [1]);
  });

  it('closes a replaced toolbox at once if nobody uses it', async () => {
    const { live, closed } = counted();
    await (await live.open(REQUEST))[Symbol.asyncDispose]();
    live.update(CONFIG);
    await nextTurn();
    assert.deepEqual(closed, [1]);
  });

  it('creates one toolbox for all runs, when the first run opens it', async () => {
    const { live, made } = counted();
    live.update(CONFIG);
    assert.equal(made(), 0);
    await Promise.all([live.open(REQUEST), live.open(REQUEST)]);
    assert.equal(made(), 1);
    await live[Symbol.asyncDispose]();
  });

  it('creates it early with prepare(), and the next one on reload', async () => {
    const { live, made } = counted();
    await live.prepare();
    assert.equal(made(), 1);
    await live.open(REQUEST);
    assert.equal(made(), 1);
    live.update(CONFIG);
    assert.equal(made(), 2);
    await live[Symbol.asyncDispose]();
  });

  it('retries creating a toolbox after a failure', async () => {
    let tries = 0;
    const live = createLiveToolbox(CONFIG, {
      create: async () => {
        if (++tries === 1) throw new Error('no folder');
        return {
          read: async () => ({ title: '', content: '' }),
          open: async () => ({ tools: new Map(), async [Symbol.asyncDispose]() {} }),
          async [Symbol.asyncDispose]() {},
        };
      },
      onCloseFailed: () => assert.fail('there is nothing to close'),
    });
    await assert.rejects(live.open(REQUEST), /no folder/);
    await live.open(REQUEST);
    assert.equal(tries, 2);
    await live[Symbol.asyncDispose]();
  });

  it('releases the place of a run whose tools could not be opened', async () => {
    const { live, closed } = counted({ fails: true });
    await assert.rejects(live.open(REQUEST), /no tools/);
    live.update(CONFIG);
    await nextTurn();
    assert.deepEqual(closed, [1]);
  });

  it('reports a toolbox that cannot be closed, and goes on', async () => {
    const failures: unknown[] = [];
    const live = createLiveToolbox(CONFIG, {
      create: async () => ({
        read: async () => ({ title: '', content: '' }),
        open: async () => ({ tools: new Map(), [Symbol.asyncDispose]: async () => {} }),
        [Symbol.asyncDispose]: () => Promise.reject(new Error('stuck')),
      }),
      onCloseFailed: (cause) => void failures.push(cause),
    });
    await live.open(REQUEST);
    await live[Symbol.asyncDispose]();
    assert.match(String(failures[0]), /stuck/);
  });
});

/** A live toolbox that numbers its generations, and the numbers of the closed ones. */
function counted({ fails = false, read = async () => ({ title: '', content: '' }) } = {}) {
  const closed: number[] = [];
  let made = 0;
  const create = async (): Promise<Toolbox> => {
    made += 1;
    const number = made;
    return {
      read,
      open: async () => {
        if (fails) throw new Error('no tools');
        return { tools: new Map(), [Symbol.asyncDispose]: async () => {} };
      },
      [Symbol.asyncDispose]: async () => void closed.push(number),
    };
  };
  return { live: createLiveToolbox(CONFIG, { create, onCloseFailed: assert.ifError }), closed, made: () => made };
}
