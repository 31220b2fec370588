import assert from 'node:assert/strict';
import { newRunId } from '../../../src/base/ids.ts';
import { ResponseJsonCache } from '../../../src/runs/reading/response-json-cache.ts';

describe('responses as they were answered last', () => {
  const [one, two, three] = [newRunId(), newRunId(), newRunId()];
  let made: string[];
  const make = (text: string) => async () => {
    made.push(text);
    return Buffer.from(text);
  };
  beforeEach(() => {
    made = [];
  });

  it('are made once for each version', async () => {
    const texts = new ResponseJsonCache();
    const first = await texts.get(one, '1', make('a'));
    assert.equal(await texts.get(one, '1', make('again')), first);
    assert.equal(String(await texts.get(one, '2', make('b'))), 'b');
    assert.equal(String(await texts.get(two, '2', make('c'))), 'c');
    assert.equal(String(await texts.get(one, '1', make('d'))), 'd', 'only the last version is kept');
    assert.deepEqual(made, ['a', 'b', 'c', 'd']);
  });

  it('take no more memory than they may: what was not asked for longest goes', async () => {
    // What each takes besides its bytes is counted: there is room for four.
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

  it('are not kept where one would push many out', async () => {
    const long = 'x'.repeat(1001);
    const texts = new ResponseJsonCache(4000);
    await texts.get(one, '1', make('11'));
    await texts.get(two, '1', make(long));
    await texts.get(two, '1', make(long));
    await texts.get(one, '1', make('not made'));
    assert.deepEqual(made, ['11', long, long]);
  });

  it('hold no block of memory that others share', async () => {
    const kept = await new ResponseJsonCache().get(one, '1', make('a'));
    assert.equal(kept.buffer.byteLength, kept.length);
  });
});
