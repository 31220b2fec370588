import assert from 'node:assert/strict';
import { createItemLookup } from '../../../src/http/submission/references.ts';
import { readInput } from '../../../src/runs/stored/stored-request.ts';
import { CALLER, openHarness, question, readAll } from '../../support/run-harness.ts';
import { ScriptedModel } from '../../support/scripted-model.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const refused = { name: 'GatewayError', code: 'invalid_parameter', message: /^input: at most 500 references/ };

describe('item references of a request', () => {
  let read = 0;
  const lookUpOf = (length: number, ids: string[] = []) => {
    const runs = {
      async *findItems(_caller: unknown, ids: readonly string[]) {
        for (const id of ids) yield { id, json: JSON.stringify({ id, text: 'x'.repeat(++read && length) }) };
      },
    };
    const items = ids.map((id) => ({ type: 'item_reference', id }));
    const lookUp = createItemLookup(items, { runs, caller: { user: 'ann', keyId: 'a' }, field: 'input' });
    return (id: string) => lookUp(id, 'input[0].id');
  };

  it('are limited in number', async () => {
    const lookUp = lookUpOf(1);
    for (let n = 0; n < 500; n++) assert.equal((await lookUp(`msg_${n}`)).id, `msg_${n}`);
    await assert.rejects(lookUp('msg_500'), refused);
    read = 0;
    await lookUpOf(
      1,
      Array.from({ length: 600 }, (_, n) => `msg_${n}`),
    )('msg_0');
    assert.equal(read, 500, 'no more are read ahead');
  });

  it('are limited in total size', async () => {
    const lookUp = lookUpOf(15 * 1024 * 1024);
    await lookUp('msg_1');
    await lookUp('msg_1');
    await assert.rejects(lookUp('msg_1'), refused);
    read = 0;
    const many = Array.from({ length: 9 }, (_, n) => `msg_${n}`);
    await assert.rejects(lookUpOf(15 * 1024 * 1024, many)('msg_1'), refused);
    assert.equal(read, 3, 'nothing is read beyond the bound');
  });

  it('are resolved with at most two store reads per run, however many items are named', async () => {
    const inner = await memoryStore();
    let looks = 0;
    const store = wrapStore(inner, {
      get: async (id) => {
        looks++;
        return await inner.get(id);
      },
    });
    await using harness = await openHarness({ chat: new ScriptedModel([]), store });
    const message = (text: string) => ({ type: 'message', role: 'user', content: text });
    const input = Array.from({ length: 200 }, (_, n) => message(`line ${n}`));
    const { run } = await harness.runs.submit(question({ input }));
    await readAll(harness.runs, run);
    const { output } = await harness.runs.response(run);
    const items = [...readInput(run), ...output].map(({ id }) => ({ type: 'item_reference', id: String(id) }));
    looks = 0;
    const lookUp = createItemLookup([...items, ...items], { runs: harness.runs, caller: CALLER, field: 'input' });
    for (const { id } of [...items, ...items]) assert.equal((await lookUp(id, 'input[0].id')).id, id);
    assert.ok(looks <= 2, `${looks} looks: its record, and whether its log is still there`);
    const gone = { code: 'not_found', param: 'input[9].id' };
    await assert.rejects(lookUp(items[0]?.id.replace('i0', 'i200') ?? '', 'input[9].id'), gone);
    await assert.rejects(lookUp('msg_1', 'input[9].id'), gone);
    const bob = { ...CALLER, user: 'bob' };
    const others = createItemLookup(items, { runs: harness.runs, caller: bob, field: 'input' });
    await assert.rejects(others(items[0]?.id ?? '', 'input[9].id'), gone);
  });
});
