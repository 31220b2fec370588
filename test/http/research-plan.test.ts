import assert from 'node:assert/strict';
import { type ProviderRequest, type Script, turn } from '../support/scripted-provider.ts';
import { ROUTES, startSdkGateway } from '../support/sdk-gateway.ts';

const offered = ({ body }: ProviderRequest) => body.tools?.map((tool) => tool.function.name) ?? [];

/** A model that asks the user back if it can, or plans if it can only plan. */
function asksOrPlans(request: ProviderRequest): Script {
  const tools = offered(request);
  if (tools.includes('ask_user')) {
    return turn({ toolCalls: [{ id: 'c', name: 'ask_user', arguments: '{"question":"Which lake?"}' }] });
  }
  if (tools.length === 1 && tools[0] === 'update_plan') {
    const items = '{"items":[{"text":"Depth","status":"open"},{"text":"Age","status":"open"}]}';
    return turn({ toolCalls: [{ id: 'c', name: 'update_plan', arguments: items }] });
  }
  return turn({ text: request.body.response_format ? '{"metres":1642}' : 'It is deep.' });
}

async function openGateway() {
  const deep = { kind: 'research', routes: ROUTES };
  const gateway = await startSdkGateway({
    respond: asksOrPlans,
    models: {
      deep,
      planner: { ...deep, research: { plan: 'propose' } },
      asker: { ...deep, research: { clarify: true } },
    },
    tools: { web_search: { provider: 'local', folder: './docs' } },
  });
  const ask = async (body: object) =>
    await gateway.ann.responses.create({ model: 'deep', input: 'How deep is the lake?', stream: false, ...body });
  return { ...gateway, ask };
}

describe('research.clarify and research.plan', () => {
  it('asks back once, and continues with the answer by previous_response_id or conversation', async () => {
    await using gateway = await openGateway();
    const { id: conversation } = await gateway.ann.conversations.create({});
    const research = { clarify: true };
    const first = await gateway.ask({ research });
    assert.equal(first.output_text, 'Which lake?');
    assert.deepEqual(
      first.output.map(({ type }) => type),
      ['message'],
    );
    const second = await gateway.ask({ research, previous_response_id: first.id, input: 'Baikal' });
    assert.equal(second.output_text, 'It is deep.');
    assert.match(JSON.stringify(gateway.provider.requests[1]?.body.messages), /Which lake\?.*Baikal/);
    const third = await gateway.ask({ research, previous_response_id: second.id, input: 'And the other?' });
    assert.equal(third.output_text, 'Which lake?');
    const texts: string[] = [];
    for (const input of ['How deep?', 'Baikal']) {
      texts.push((await gateway.ask({ research, conversation, input })).output_text);
    }
    assert.deepEqual(texts, ['Which lake?', 'It is deep.']);
    // A plan that is proposed in between does not count as research.
    const asked = await gateway.ask({ research });
    const planned = await gateway.ask({ research: { ...research, plan: 'propose' }, previous_response_id: asked.id });
    assert.match(planned.output_text, /1\. Depth/);
    const researched = await gateway.ask({ research, previous_response_id: planned.id, input: 'go' });
    assert.equal(researched.output_text, 'It is deep.');
  });

  it('proposes a plan in responses and chat completions, and researches once it is answered', async () => {
    await using gateway = await openGateway();
    const text = '1. Depth\n2. Age';
    const research = { plan: 'propose' };
    assert.equal((await gateway.ask({ research })).output_text, text);
    const messages = [{ role: 'user' as const, content: 'How deep?' }];
    const chat = await gateway.ann.chat.completions.create({ model: 'planner', messages });
    assert.equal(chat.choices[0]?.message.content, text);
    const first = await gateway.ask({ model: 'planner' });
    assert.equal(first.output_text, text);
    const second = await gateway.ask({ model: 'planner', previous_response_id: first.id, input: 'go' });
    assert.equal(second.output_text, 'It is deep.');
    await assert.rejects(gateway.ask({ research, text: { format: { type: 'json_object' } } }), {
      status: 400,
      code: 'conflicting_parameters',
      param: 'research.plan',
    });
  });

  it('by default of the model keep out of structured answers', async () => {
    await using gateway = await openGateway();
    const text = { format: { type: 'json_object' } };
    for (const model of ['planner', 'asker']) {
      const response = await gateway.ask({ model, text });
      assert.deepEqual(JSON.parse(response.output_text), { metres: 1642 });
      const chat = { model, messages: [{ role: 'user' as const, content: 'How deep?' }], response_format: text.format };
      const { choices } = await gateway.ann.chat.completions.create(chat as never);
      assert.deepEqual(JSON.parse(choices[0]?.message.content ?? ''), { metres: 1642 });
    }
    const asked = await gateway.ask({ text, research: { clarify: true } });
    assert.equal(asked.output_text, 'Which lake?');
  });

  it('recognise their question or plan in conversations and in threads sent as a whole', async () => {
    await using gateway = await openGateway();
    const { id: conversation } = await gateway.ann.conversations.create({});
    const texts: string[] = [];
    for (const input of ['How deep?', 'go']) {
      texts.push((await gateway.ask({ model: 'planner', conversation, input })).output_text);
    }
    assert.deepEqual(texts, ['1. Depth\n2. Age', 'It is deep.']);
    const thread = (answer: string, last: string) => [
      { role: 'user' as const, content: 'How deep?' },
      { role: 'assistant' as const, content: answer },
      { role: 'user' as const, content: last },
    ];
    const planned = thread('1. Depth', 'go');
    assert.equal((await gateway.ask({ model: 'planner', input: planned })).output_text, 'It is deep.');
    const chat = await gateway.ann.chat.completions.create({ model: 'planner', messages: planned });
    assert.equal(chat.choices[0]?.message.content, 'It is deep.');
    const asked = thread('Which lake?', 'Baikal');
    const second = await gateway.ask({ research: { clarify: true }, input: asked });
    assert.equal(second.output_text, 'It is deep.');
  });
});
