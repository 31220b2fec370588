import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { ask } from '../../src/cli/ask/ask.ts';
import { KEYS } from '../support/http-gateway.ts';
import { textPdf } from '../support/pdf-file.ts';
import { openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import type { SeenRequest } from '../support/seen-request.ts';
import { RecordedTerminal } from '../unit/cli/recorded-terminal.ts';

const TEXT = '# The lake\n\nThe lake is 1642 metres deep, the deepest of all.\n\nIt is 25 million years old.\n';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Far more than a quarter of a context window, with the answer in the middle. */
const LONG = Array.from({ length: 6000 }, (_, n) =>
  n === 4321
    ? '## Deposits\n\nThe deposit of the harbour is 48 250 crowns.'
    : `Paragraph ${n} tells of quays, cranes and weather.`,
).join('\n\n');

/** Opens or searches the document that its question names, then answers from it. */
function reader(request: SeenRequest) {
  const messages = JSON.stringify(request.messages);
  if (messages.includes('too long to be shown')) {
    const calls = request.messages.filter(({ role }) => role === 'tool').length;
    const url = /file:\/\/\/file-[\w-]+\/[^\s"\\]+/.exec(messages)?.[0];
    if (!request.research) return { text: 'The deposit is 48 250 crowns [1].' };
    if (calls === 0)
      return { toolCalls: [{ id: 'c1', name: 'file_search', arguments: '{"queries":["deposit harbour crowns"]}' }] };
    if (calls === 1 && messages.includes('And open it')) {
      const args = { url, find: '48 250' };
      return { toolCalls: [{ id: 'c2', name: 'fetch_url_content', arguments: JSON.stringify(args) }] };
    }
    return { text: messages.includes('careful researcher') ? 'I am ready.' : 'The deposit is 48 250 crowns [1].' };
  }
  if (messages.includes('Just say it'))
    return {
      text: request.research && messages.includes('careful researcher') ? 'I am ready.' : 'It is 1642 metres deep [1].',
    };
  if (!messages.includes('Attached document') || messages.includes('Summed up')) return { text: 'Ready.' };
  const url = /file:\/\/\/file-[\w-]+\/[^\s"\\]+/.exec(messages)?.[0];
  const hasRead = request.messages.some(({ role }) => role === 'tool');
  if (request.research && url && !hasRead) {
    return { toolCalls: [{ id: 'call_1', name: 'fetch_url_content', arguments: JSON.stringify({ url }) }] };
  }
  if (request.research) return { text: 'I am ready.' };
  return { text: 'The lake is 1642 metres deep [1].' };
}

describe('files in requests', () => {
  let gateway: ResearchGateway;
  let client: OpenAI;
  let bob: OpenAI;
  before(async () => {
    gateway = await openResearchGateway({
      model: (request) => reader(request),
      research: { plan: 'off' },
      models: {
        plain: {
          kind: 'proxy',
          vision: true,
          apis: ['chat_completions', 'responses'],
          routes: [{ provider: 'scripted', model: 'p' }],
        },
        senses: {
          kind: 'proxy',
          files: true,
          audio: true,
          apis: ['responses'],
          routes: [{ provider: 'scripted', model: 's' }],
        },
      },
    });
    const open = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    client = open(KEYS.ann);
    bob = open(KEYS.bob);
  });
  after(() => gateway[Symbol.asyncDispose]());

  const upload = async (name: string, bytes: Buffer | string) =>
    (await client.files.create({ file: await toFile(Buffer.from(bytes), name), purpose: 'user_data' })).id;
  const asking = (part: object) => [
    { role: 'user' as const, content: [{ type: 'input_text' as const, text: 'How deep is it?' }, part as never] },
  ];
  const lastSeen = () => JSON.stringify(gateway.seen.at(-1)?.messages);

  it('are opened by a research model, and cited by name', async () => {
    const file_id = await upload('lake notes.md', TEXT);
    const response = await client.responses.create({ model: 'deep', input: asking({ type: 'input_file', file_id }) });
    assert.equal(response.status, 'completed');
    const message = response.output.find((item) => item.type === 'message');
    const part = message?.content[0];
    assert.ok(part?.type === 'output_text');
    assert.match(part.text, /1642 metres deep \[1\]/);
    const [cited] = part.annotations;
    assert.ok(cited?.type === 'url_citation');
    assert.deepEqual([cited.url, cited.title], [`file:///${file_id}/lake%20notes.md`, 'lake notes.md']);
    assert.equal((cited as { support?: string }).support, 'quoted');
    await client.files.delete(file_id);
  });

  it('are stored as files if sent inline, and replaced by their id in the stored input', async () => {
    const file_data = `data:text/markdown;base64,${Buffer.from(TEXT).toString('base64')}`;
    const part = { type: 'input_file', filename: 'lake.md', file_data, file_id: null, file_url: null };
    const response = await client.responses.create({ model: 'deep', input: asking(part) });
    assert.equal(response.status, 'completed');
    assert.match(response.output_text, /1642/);
    const items = JSON.stringify(await client.responses.inputItems.list(response.id));
    assert.match(items, /file-[\da-f-]{36}/);
    assert.doesNotMatch(items, /base64/);
    const [file] = (await client.files.list()).data;
    assert.equal(file?.filename, 'lake.md');
    assert.ok(Number(file?.expires_at) > Number(file?.created_at));
  });

  it('are removed if the request is refused or only counts its tokens, and stored once if it is repeated', async () => {
    const stored = async () => (await client.files.list({ limit: 1000 })).data.length;
    const file_data = Buffer.from(TEXT).toString('base64');
    const part = { type: 'input_file', filename: 'lake.md', file_data };
    const before = await stored();
    const body = { model: 'plain', input: asking(part) };
    await assert.rejects(client.responses.create({ ...body, max_output_tokens: -1 }), /max_output_tokens/);
    await assert.rejects(client.responses.create({ ...body, previous_response_id: 'resp_none' }), /resp_none/);
    const second = { type: 'input_file', filename: 'b.md', file_data: '&' };
    const both = [{ role: 'user' as const, content: [part as never, second as never] }];
    await assert.rejects(client.responses.create({ model: 'plain', input: both }), /base64/);
    await assert.rejects(client.conversations.create({ items: both }), /base64/);
    const chat = { role: 'user' as const, content: [{ type: 'file' as const, file: { filename: 'a.md', file_data } }] };
    await assert.rejects(client.chat.completions.create({ model: 'deep', messages: [chat], n: 2 }), /n:/);
    const { input_tokens } = await client.responses.inputTokens.count(body);
    assert.ok(input_tokens > 20);
    assert.equal(await stored(), before);
    const headers = { 'idempotency-key': 'inline-file' };
    const [one, again] = [
      await client.responses.create(body, { headers }),
      await client.responses.create(body, { headers }),
    ];
    assert.equal(again.id, one.id);
    assert.equal(await stored(), before + 1);
  });

  it('reach a plain model as text, and images as images', async () => {
    const file_id = await upload('lake.md', TEXT);
    const image = await upload('dot.png', PNG);
    await client.responses.create({ model: 'plain', input: asking({ type: 'input_file', file_id }) });
    assert.match(lastSeen(), /Attached document: lake\.md/);
    assert.match(lastSeen(), /1642 metres deep/);
    await client.responses.create({
      model: 'plain',
      input: asking({ type: 'input_image', file_id: image, detail: 'auto' }),
    });
    assert.match(lastSeen(), /data:image\/png;base64,iVBOR/);
    const withToolOutput = (parts: OpenAI.Responses.ResponseFunctionCallOutputItemList) =>
      client.responses.create({
        model: 'plain',
        input: [
          { role: 'user', content: 'Look.' },
          { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
          { type: 'function_call_output', call_id: 'call_1', output: parts },
        ],
      });
    const file_data = Buffer.from(TEXT).toString('base64');
    await withToolOutput([
      { type: 'input_text', text: 'Here they are.' },
      { type: 'input_file', filename: 'lake.md', file_data },
      { type: 'input_image', file_id: image },
    ]);
    const [, , told, shown] = gateway.seen.at(-1)?.messages ?? [];
    assert.equal(told?.role, 'tool');
    assert.match(JSON.stringify(told), /Here they are\..*1642 metres deep/);
    assert.equal(shown?.role, 'user');
    assert.match(JSON.stringify(shown), /result of look.*data:image\/png;base64,iVBOR/);
    await assert.rejects(withToolOutput([{ type: 'input_file', file_id: 'file-1' }]), { status: 404 });
    await client.files.delete(file_id);
    await client.files.delete(image);
  });

  it('reach a model with files: true and audio: true as PDF and audio, others as text or not at all', async () => {
    const pdf = textPdf([[{ text: 'The lake is 1642 metres deep.', x: 50, y: 700 }]]);
    const notes = await upload('lake.md', TEXT);
    const parts = [
      { type: 'input_file', filename: 'lake.pdf', file_data: Buffer.from(pdf).toString('base64') },
      { type: 'input_file', file_id: notes },
      { type: 'input_audio', input_audio: { data: 'SUQz', format: 'mp3' } },
    ];
    const input = [{ role: 'user' as const, content: parts as never }];
    const first = await client.responses.create({ model: 'senses', input });
    const [file, text, audio] = JSON.parse(gateway.seen.at(-1)?.messages.at(-1)?.content ?? '');
    const file_data = `data:application/pdf;base64,${Buffer.from(pdf).toString('base64')}`;
    assert.deepEqual(file, { type: 'file', file: { filename: 'lake.pdf', file_data } });
    assert.match(JSON.stringify(text), /1642 metres deep/);
    assert.deepEqual(audio, parts[2]);
    await client.responses.create({ model: 'senses', previous_response_id: first.id, input: 'And?' });
    assert.match(JSON.stringify(gateway.seen.at(-1)?.messages), /data:application\/pdf;base64.*SUQz/);
    await client.responses.create({ model: 'deep', previous_response_id: first.id, input: 'And now?' });
    const seen = JSON.stringify(gateway.seen.map(({ messages }) => messages).slice(-3));
    assert.match(seen, /The file lake\.pdf, which is not shown here/);
    await client.responses.create({
      model: 'senses',
      input: [
        { role: 'user', content: 'Look.' },
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: parts.slice(0, 1) as never },
      ],
    });
    assert.match(JSON.stringify(gateway.seen.at(-1)?.messages), /Files of the result of look.*application\/pdf;base64/);
    const instructed = [
      { role: 'developer' as const, content: parts.slice(0, 1) as never },
      ...asking({ type: 'input_text', text: '' }),
    ];
    await client.responses.create({ model: 'senses', input: instructed });
    assert.match(JSON.stringify(gateway.seen.at(-1)?.messages), /Attached document: lake\.pdf.*1642 metres/);
    for (const model of ['plain', 'deep']) {
      await client.responses.create({ model, input: asking(parts[0] ?? {}) });
      assert.doesNotMatch(JSON.stringify(gateway.seen.at(-1)?.messages), /application\/pdf/);
      const param = 'input[0].content[1]';
      const heard = client.responses.create({ model, input: asking(parts[2] ?? {}) });
      await assert.rejects(heard, { status: 400, code: 'unsupported_parameter', param });
    }
    const bad = { type: 'input_audio', input_audio: { data: '!', format: 'mp3' } };
    await assert.rejects(client.responses.create({ model: 'senses', input: asking(bad) }), { status: 400 });
    await client.files.delete(notes);
  });

  it('are shown to a research model too, which can cite them without opening them', async () => {
    const file_id = await upload(
      'lake.md',
      `${TEXT}\n${'Der See ist sehr tief, und niemand weiß, wie alt er wirklich ist. '.repeat(50)}`,
    );
    const [message] = asking({ type: 'input_file', file_id });
    message?.content.push({ type: 'input_text', text: 'Just say it.' });
    const before = gateway.seen.length;
    const response = await client.responses.create({ model: 'deep', input: [message as never] });
    assert.match(lastSeen(), /1642 metres deep, the deepest/);
    // The document is mostly German, the question is English.
    assert.match(JSON.stringify(gateway.seen[before]), /Language of the question: English/);
    assert.deepEqual(citedIn(response), { url: `file:///${file_id}/lake.md`, section: undefined });
    await client.files.delete(file_id);
  });

  it('are searched and opened if too long to show, by both kinds of model and in follow-ups', async () => {
    const file_id = await upload('harbour.md', LONG);
    const url = `file:///${file_id}/harbour.md`;
    for (const model of ['deep', 'plain']) {
      const ask = (input: unknown, more: object = {}) =>
        client.responses.create({ model, input: input as never, include: ['file_search_call.results'], ...more });
      const [message] = asking({ type: 'input_file', file_id });
      message?.content.push({ type: 'input_text', text: 'And open it.' });
      const before = gateway.seen.length;
      const first = await ask([message]);
      assert.doesNotMatch(JSON.stringify(gateway.seen[before]), /Paragraph 3000/);
      const found = JSON.stringify(gateway.seen.at(-1)?.messages);
      assert.match(found, /The deposit of the harbour is 48 250 crowns/);
      assert.match(found, /c2.*"offset|c2.*offset/);
      assert.deepEqual(citedIn(first), { url, section: 'Deposits' }, model);
      const next = await ask('And the deposit again?', { previous_response_id: first.id });
      assert.deepEqual(citedIn(next), { url, section: 'Deposits' }, model);
    }
    // After the file is deleted, nothing is found in it any more.
    await client.files.delete(file_id);
    const afterDeletion = await client.responses.create({
      model: 'plain',
      input: `Attached document: h\nAddress: ${url}\nIt is too long to be shown here: x`,
    });
    assert.match(JSON.stringify(gateway.seen.at(-1)?.messages), /There is no file file-/);
    assert.equal(citedIn(afterDeletion), undefined);
  });

  it('leave a function of the client alone that has the name of a tool for long documents', async () => {
    const file_id = await upload('harbour.md', LONG);
    const own = { type: 'function' as const, name: 'file_search', parameters: { type: 'object' }, strict: null };
    for (const model of ['deep', 'plain']) {
      const input = asking({ type: 'input_file', file_id }) as never;
      const { output } = await client.responses.create({ model, input, tools: [own] });
      assert.equal(output.at(-1)?.type, 'function_call', model);
      assert.deepEqual(gateway.seen.at(-1)?.tools.filter((name) => name === 'file_search').length, 1, model);
    }
  });

  /** The URL and section of the first citation of an answer. */
  function citedIn(response: OpenAI.Responses.Response): object | undefined {
    const message = response.output.find((item) => item.type === 'message');
    const part = message?.type === 'message' ? message.content[0] : undefined;
    assert.ok(part?.type === 'output_text', JSON.stringify(response));
    const cited = part.annotations[0] as unknown as { url: string; section?: string } | undefined;
    return cited && { url: cited.url, section: cited.section };
  }

  it('work the same in chat completions', async () => {
    const file_data = `data:text/markdown;base64,${Buffer.from(TEXT).toString('base64')}`;
    const file_id = await upload('lake notes.md', TEXT);
    const chat = (content: object[]) => [{ role: 'user' as const, content: content as never }];
    const question = { type: 'text', text: 'How deep is it?' };
    for (const file of [{ file_id }, { filename: 'lake.md', file_data }]) {
      const messages = chat([question, { type: 'file', file }]);
      const completion = await client.chat.completions.create({ model: 'deep', messages });
      assert.match(completion.choices[0]?.message.content ?? '', /1642 metres deep/);
      assert.doesNotMatch(lastSeen(), /base64/);
    }
    const both = chat([question, { type: 'file', file: { file_id, file_data } }]);
    await assert.rejects(client.chat.completions.create({ model: 'deep', messages: both }), { status: 400 });
    const foreign = chat([question, { type: 'file', file: { file_id } }]);
    await assert.rejects(bob.chat.completions.create({ model: 'deep', messages: foreign }), { status: 404 });
    await client.files.delete(file_id);
  });

  it('stay in a conversation, which continues after they are deleted', async () => {
    const file = await client.files.create({
      file: await toFile(Buffer.from('Gone.'), 'gone.md'),
      purpose: 'user_data',
    });
    const content = [
      { type: 'input_file' as const, file_data: Buffer.from(TEXT).toString('base64'), filename: 'lake.md' },
      { type: 'input_file' as const, file_id: file.id },
      { type: 'input_image' as const, detail: 'auto' as const, file_id: file.id },
    ];
    // The file is no image, which shows only when it is read.
    const { id } = await client.conversations.create({ items: [{ role: 'user', content }] });
    const ask = (model: string) => client.responses.create({ model, conversation: id, input: 'How deep is the lake?' });
    assert.equal((await ask('plain')).status, 'completed');
    assert.match(JSON.stringify(gateway.seen.at(-1)?.messages), /Gone\..*\(A file that can no longer be read\.\)/);
    await client.files.delete(file.id);
    for (const model of ['plain', 'deep']) {
      assert.equal((await ask(model)).status, 'completed');
      const seen = JSON.stringify(gateway.seen.at(-1)?.messages);
      assert.match(seen, /Attached document: lake\.md/);
      assert.equal(seen.split('(A file that can no longer be read.)').length, 3);
    }
    const input = [{ role: 'user' as const, content: content.slice(1, 2) }];
    await assert.rejects(client.responses.create({ model: 'plain', conversation: id, input }), {
      status: 404,
      param: 'input[0].content[0].file_id',
    });
    for (const [at, part] of content.slice(1).entries()) {
      const items = [{ type: 'message' as const, role: 'user' as const, content: [part] }];
      const refused = { status: 404, param: 'items[0].content[0].file_id' };
      await assert.rejects(
        at === 0 ? client.conversations.create({ items }) : client.conversations.items.create(id, { items }),
        refused,
      );
    }
  });

  it('of another user are not found', async () => {
    const file_id = await upload('mine.md', TEXT);
    for (const model of ['deep', 'plain']) {
      const pending = bob.responses.create({ model, input: asking({ type: 'input_file', file_id }) });
      await assert.rejects(pending, (thrown) => thrown instanceof OpenAI.APIError && thrown.status === 404);
    }
    // Knowing the address does not help either.
    const text = `Attached document: x. Open it with fetch_url_content: file:///${file_id}/mine.md`;
    const before = gateway.seen.length;
    const response = await bob.responses.create({ model: 'deep', input: text });
    assert.doesNotMatch(JSON.stringify(response), /25 million/);
    assert.doesNotMatch(JSON.stringify(gateway.seen.slice(before)), /25 million/);
    await client.files.delete(file_id);
  });

  it('that cannot be read are refused with the reason', async () => {
    const zip = await upload('x.zip', Buffer.from([0x50, 0x4b, 0x03, 0x04, 0, 0, 0, 0]));
    const refused = async (part: object, param: RegExp, code?: string) => {
      const pending = client.responses.create({ model: 'plain', input: asking(part) });
      await assert.rejects(pending, (thrown) => {
        assert.ok(thrown instanceof OpenAI.APIError);
        assert.ok(thrown.status === 400 || thrown.status === 404, `${thrown.status}`);
        assert.match(String(thrown.param), param);
        if (code !== undefined) assert.equal(thrown.code, code);
        return true;
      });
    };
    await refused({ type: 'input_file', file_id: zip }, /content\[1\]/, 'unsupported_file');
    await refused({ type: 'input_file', file_id: 'file-unknown' }, /content\[1\]\.file_id/);
    await refused({ type: 'input_file' }, /content\[1\]/);
    await refused({ type: 'input_file', file_data: '!!!' }, /file_data/);
    await refused({ type: 'input_file', file_id: zip, file_url: 'https://example.com/a.pdf' }, /content\[1\]/);
    await refused({ type: 'input_file', file_url: 'http://127.0.0.1:1/a.pdf' }, /content\[1\]/);
    await refused({ type: 'input_image', file_id: zip, detail: 'auto' }, /content\[1\]/);
    await client.files.delete(zip);
  });

  it('can be attached by research-gateway ask', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ask-file-'));
    const path = join(folder, 'lake notes.md');
    await writeFile(path, TEXT);
    const askWith = async (file: string) => {
      const terminal = new RecordedTerminal();
      const connection = { baseUrl: gateway.url, apiKey: KEYS.ann, model: 'deep' };
      return {
        code: await ask({ ...connection, question: 'How deep is it?', file: [file] }, terminal),
        ...terminal.written,
      };
    };
    const { code, out, err } = await askWith(path);
    assert.equal(code, 0, err);
    assert.match(out, /lake notes\.md/);
    const missing = await askWith(join(folder, 'none.md'));
    assert.equal(missing.code, 2);
    assert.match(missing.err, /there is no such file/);
    await rm(folder, { recursive: true });
  });
});
