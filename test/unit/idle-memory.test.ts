import assert from 'node:assert/strict';
import { getHeapSpaceStatistics } from 'node:v8';
import { collectAll } from '../../src/base/collect-garbage.ts';
import { IdleMemory } from '../../src/base/idle-memory.ts';

const MB = 1024 * 1024;

describe('memory that is given back at rest', () => {
  const watched = (now: { idle: boolean; newSpace: number }) => {
    const seen = { collections: 0 };
    const memory = new IdleMemory({
      isIdle: () => now.idle,
      newSpace: () => now.newSpace,
      collect: () => {
        seen.collections++;
        now.newSpace = MB;
      },
    });
    const look = (times: number) => {
      for (let n = 0; n < times; n++) memory.look();
    };
    return { seen, look, [Symbol.dispose]: () => memory[Symbol.dispose]() };
  };

  it('waits for a while in which there was nothing to do', () => {
    const now = { idle: true, newSpace: 20 * MB };
    using memory = watched(now);
    memory.look(4);
    now.idle = false;
    memory.look(1);
    now.idle = true;
    memory.look(4);
    assert.equal(memory.seen.collections, 0);
    memory.look(1);
    assert.equal(memory.seen.collections, 1);
  });

  it('is given back once until there is some again, and then after minutes only', () => {
    const now = { idle: true, newSpace: 20 * MB };
    using memory = watched(now);
    memory.look(100);
    assert.equal(memory.seen.collections, 1);
    now.idle = false;
    now.newSpace = 20 * MB;
    memory.look(1);
    now.idle = true;
    memory.look(299);
    assert.equal(memory.seen.collections, 1);
    memory.look(1);
    assert.equal(memory.seen.collections, 2);
  });

  it('is what the runtime had set aside for new objects', () => {
    const newSpace = () =>
      getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
    let kept: object[] = [];
    for (let n = 0; n < 3_000_000; n++) {
      kept.push({ n });
      if (n % 300_000 === 0) kept = [];
    }
    const before = newSpace();
    assert.ok(before > 4 * MB, `${before}`);
    collectAll();
    assert.ok(newSpace() < before / 2, `${before} became ${newSpace()}`);
  });
});
