import assert from 'node:assert/strict';
import { newRunId } from '../../../src/base/ids.ts';
import { ResponseJsonCache } from '../../../src/runs/reading/response-json-cache.ts';

describe('ResponseJsonCache', () => {
  const [one, two, three] = [newRunId(), newRunId(), newRunId()];
  let made: string[];
  const make = (text: string) => async () => {
    made.push(text);
    return Buffer.from(text);
  };
  beforeEach(() => {
    made = [];
  });

  it('makes each version once', async () => {
    const texts = new ResponseJsonCache();
    const first = await texts.get(one, '1', make('a'));
    assert.equal(await texts.get(one, '1', make('again')), first);
    assert.equal(String(await texts.get(one, '2', make('b'))), 'b');
    assert.equal(String(await texts.get(two, '2', make('c'))), 'c');
    assert.equal(String(await texts.get(one, '1', make('d'))), 'd', 'only the last version is kept');
    assert.deepEqual(made, ['a', 'b', 'c', 'd']);
  });

  it('evicts the least recently used above its limit', async () => {
    // What each takes besides its bytes counts too: there is room for four.
    const texts = new ResponseJsonCache(4 * 502);
    await texts.get(one, '1', make('11'));
    await texts.get(two, '1', make('22'));
    await texts.get(three, '1', make('33'));
    await texts.get(one, '1', make('not made'));
    await texts.get(newRunId(), '1', make('44'));
    await texts.get(newRunId(), '1', make('55'));
    made = [];
    await texts.get(one, '1', make('still there'));
    await texts.get(two, '1', make('made again'));
    assert.deepEqual(made, ['made again']);
  });

  it('does not keep one that would push many out', async () => {
    const long = 'x'.repeat(1001);
    const texts = new ResponseJsonCache(4000);
    await texts.get(one, '1', make('11'));
    await texts.get(two, '1', make(long));
    await texts.get(two, '1', make(long));
    await texts.get(one, '1', make('not made'));
    assert.deepEqual(made, ['11', long, long]);
  });

  it('shares no memory with other buffers', async () => {
    const kept = await new ResponseJsonCache().get(one, '1', make('a'));
    assert.equal(kept.buffer.byteLength, kept.length);
  });
});
