import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { send, startProxyGateway } from '../support/proxy-gateway.ts';
import { startScriptedProvider, turn } from '../support/scripted-provider.ts';

async function filesWith(text: string, folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents = await Promise.all(files.map((file) => readFile(file)));
  return contents.filter((content) => content.includes(text)).length;
}

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
      const plain = {
        kind: 'proxy',
        responses: 'gateway',
        apis: ['responses'],
        routes: [{ provider: 'one', model: 'm' }],
      };
      const options = { providers: { one: { url: provider.url } }, models: { plain }, storeUrl: `file:${folder}` };
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
});
