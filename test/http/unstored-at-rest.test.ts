import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLIENT_KEY, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { startScriptedProvider, turn } from '../support/scripted-provider.ts';

async function filesWith(text: string, folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents = await Promise.all(files.map((file) => readFile(file)));
  return contents.filter((content) => content.includes(text)).length;
}

const MODELS = {
  plain: { kind: 'proxy', responses: 'gateway', apis: ['responses'], routes: [{ provider: 'one', model: 'm' }] },
};

describe('a response with store: false, over SQLite', () => {
  for (const model of ['plain', 'deep']) {
    it(`is in no file in plain text, neither while it runs nor afterwards: the model ${model}`, async () => {
      await using stack = new AsyncDisposableStack();
      const folder = await mkdtemp(join(tmpdir(), 'unstored-'));
      stack.defer(() => rm(folder, { recursive: true }));
      const answered = Promise.withResolvers<void>();
      const respond = () => {
        const script = turn({ text: 'The answer is canary-of-the-answer, and no more.' });
        return { ...script, steps: [{ do: 'until' as const, promise: answered.promise }, ...script.steps] };
      };
      const provider = stack.use(await startScriptedProvider({ respond }));
      const options = { providers: { one: { url: provider.url } }, models: MODELS, storeUrl: `file:${folder}` };
      const gateway = stack.use(await startProxyGateway(options));
      const ask = async (input: string, store: boolean) =>
        await send(gateway, '/responses', { body: { model, input, stream: true, store } });
      const responses = [await ask('canary-that-is-stored', true), await ask('canary-that-is-not', false)];
      await provider.waitForActive(2);
      assert.deepEqual(
        [(await filesWith('canary-that-is-stored', folder)) > 0, await filesWith('canary-that-is-not', folder)],
        [true, 0],
      );
      answered.resolve();
      const texts = await Promise.all(responses.map((response) => response.text()));
      for (const text of texts) assert.match(text, /canary-of-the-answer[\s\S]*response\.completed/);
      assert.equal(await filesWith('canary-that-is-not', folder), 0);
    });
  }

  for (const model of ['plain', 'deep']) {
    it(`is in no file with what is attached to it: the model ${model}`, async () => {
      await using stack = new AsyncDisposableStack();
      const folder = await mkdtemp(join(tmpdir(), 'unstored-'));
      stack.defer(() => rm(folder, { recursive: true }));
      const provider = stack.use(await startScriptedProvider({ respond: () => turn({ text: 'Read.' }) }));
      const files = join(folder, 'files');
      const stores = { storeUrl: `file:${folder}`, files: { url: `file:${files}` } };
      const options = { providers: { one: { url: provider.url } }, models: MODELS, ...stores };
      const gateway = stack.use(await startProxyGateway(options));
      const file = (text: string, filename: string, type = 'canary-of-the-type') => ({
        type: 'input_file',
        file_data: `data:text/${type};base64,${Buffer.from(text).toString('base64')}`,
        filename,
      });
      const ask = async (content: object[], store: boolean) =>
        await (
          await send(gateway, '/responses', { body: { model, input: [{ role: 'user', content }], store } })
        ).text();
      const long = `canary-of-the-file ${'Much is written here, and none of it is known. '.repeat(20_000)}`;
      const question = { type: 'input_text', text: 'What does it say?' };
      await ask([question, file(long, 'canary-of-the-name.md'), file('A canary-that-is-short.', 'short.txt')], false);
      const sent = JSON.stringify(provider.requests.at(-1)?.body);
      const [, id] = /file:\/\/\/(file-[\w-]+)\/canary-of-the-name\.md.*canary-that-is-short/.exec(sent) ?? [];
      const headers = { authorization: `Bearer ${CLIENT_KEY}` };
      const get = async (path: string) => await (await fetch(gateway.url + path, { headers })).text();
      assert.ok((await get(`/files/${id}/content`)) === long, 'its content is what was sent');
      assert.match(await get(`/files/${id}`), /"canary-of-the-name.md","purpose":"user_data"/);
      assert.match(await get('/files'), /"data":\[\]/);
      await ask([question, file('A canary-that-is-stored.', 'stored.txt', 'plain')], true);
      assert.equal(await filesWith('canary-that-is-stored', files), 1);
      const found = await Promise.all(
        ['that-is-stored', 'of-the-file', 'of-the-name', 'of-the-type', 'that-is-short'].map((name) =>
          filesWith(`canary-${name}`, folder),
        ),
      );
      assert.deepEqual([(found[0] ?? 0) > 0, ...found.slice(1)], [true, 0, 0, 0, 0]);
    });
  }
});
