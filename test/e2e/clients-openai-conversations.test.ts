import assert from 'node:assert/strict';
import { MODEL, QUESTION } from '../support/client-gateway.ts';
import { forEachMajor } from '../support/openai-majors.ts';

forEachMajor('the official SDK: conversations', (major) => {
  const newest = () => {
    const client = major.client();
    return 'conversations' in client ? client : undefined;
  };

  it('are created, read, updated, filled, listed and deleted', async function () {
    const client = newest();
    if (!client) return this.skip();
    const { conversations } = client;
    const created = await conversations.create({
      metadata: { topic: 'tides' },
      items: [{ type: 'message', role: 'user', content: 'I live at the sea.' }],
    });
    assert.deepEqual([created.object, created.metadata], ['conversation', { topic: 'tides' }]);
    const updated = await conversations.update(created.id, { metadata: { topic: 'moon' } });
    assert.deepEqual(await conversations.retrieve(created.id), updated);

    const added = await conversations.items.create(created.id, { items: [{ role: 'user', content: 'In the north.' }] });
    const [item] = added.data;
    assert.ok(item?.type === 'message' && item.id !== undefined);
    assert.deepEqual(item.content, [{ type: 'input_text', text: 'In the north.' }]);
    assert.deepEqual(await conversations.items.retrieve(item.id, { conversation_id: created.id }), item);

    const listed = [];
    for await (const one of conversations.items.list(created.id, { limit: 1, order: 'asc' })) listed.push(one.id);
    assert.equal(listed.length, 2, 'page by page');
    assert.equal((await conversations.items.delete(item.id, { conversation_id: created.id })).id, created.id);
    assert.equal((await conversations.items.list(created.id)).data.length, 1);
    assert.deepEqual(await conversations.delete(created.id), {
      id: created.id,
      object: 'conversation.deleted',
      deleted: true,
    });
    await assert.rejects(conversations.retrieve(created.id), major.sdk.NotFoundError);
  });

  it('collect the items of one response after another', async function () {
    const client = newest();
    if (!client) return this.skip();
    const { id } = await client.conversations.create();
    const first = await client.responses.create({ model: MODEL.research, input: QUESTION, conversation: id });
    assert.deepEqual([first.status, first.conversation], ['completed', { id }]);
    const stream = client.responses.stream({ model: MODEL.research, input: 'And where?', conversation: { id } });
    const second = await stream.finalResponse();
    assert.equal(second.status, 'completed');
    const items = [];
    for await (const item of client.conversations.items.list(id, { order: 'asc' })) items.push(item);
    const outputs = [...first.output, ...second.output].map((item) => item.id);
    const listed = items.map((item) => item.id);
    assert.deepEqual(
      outputs.filter((one) => !listed.includes(one)),
      [],
    );
    assert.equal(items.length, outputs.length + 2);
  });

  it('are compacted and counted, if the SDK has the methods', async function () {
    const client = newest();
    if (!client || !('compact' in client.responses) || !('inputTokens' in client.responses)) return this.skip();
    const compacted = await client.responses.compact({ model: MODEL.research, input: QUESTION });
    assert.equal(compacted.object, 'response.compaction');
    assert.deepEqual(
      compacted.output.map(({ type }) => type),
      ['message', 'compaction'],
    );
    const [, item] = compacted.output;
    assert.ok(item?.type === 'compaction');
    const input = [item, { role: 'user' as const, content: QUESTION }];
    assert.equal((await client.responses.create({ model: MODEL.research, input })).status, 'completed');
    const counted = await client.responses.inputTokens.count({ model: MODEL.research, input });
    assert.equal(counted.object, 'response.input_tokens');
    assert.ok(counted.input_tokens > 0);
  });
});
