import assert from 'node:assert/strict';
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { responseObject } from '../../src/protocol/response.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { Spawned } from '../support/spawned.ts';
import { patience } from '../support/time-limit.ts';
import { HEADERS, KEY, submit } from '../support/two-instances.ts';

const PROGRAM = fileURLToPath(new URL('../../src/research-gateway.js', import.meta.url));
const DOCUMENT = 'A lighthouse is a tower with a lamp.\n';

/** Follows docs/operations/backup.md. */
describe('a store that is backed up while a gateway uses it, and restored into an empty folder', function () {
  // Two gateways and a command are started as processes.
  this.timeout(patience(30));

  it('returns completed runs and files byte for byte, and continues the open run', async () => {
    await using folder = await gatewayFolder();
    await using provider = await startScriptedProvider();
    const goOn = Promise.withResolvers<void>();
    provider.respond = async ({ body }) => {
      if (JSON.stringify(body).includes('Elmsworth')) await goOn.promise;
      return turn({ text: 'A tower with a lamp.', chunks: 4 });
    };
    const configOf = (data: string) => ({
      server: { port: 0, shutdown_grace_seconds: 0.5 },
      store: { url: `file:${join(folder.path, data)}` },
      providers: { scripted: { base_url: provider.url, api_key: 'sk-provider' } },
      models: {
        researcher: { kind: 'research', routes: [{ provider: 'scripted', model: 'm' }], research: { tools: [] } },
      },
      keys: [{ id: 'ann', secret: KEY }],
    });
    const read = async (at: { url: string }, path: string) => {
      const answer = await fetch(at.url + path, { headers: HEADERS });
      return { status: answer.status, text: await answer.text() };
    };
    const ended = async (at: { url: string }, id: string) =>
      await eventually(`${id} has ended`, async () => {
        const { status, text } = await read(at, `/v1/responses/${id}`);
        assert.equal(status, 200, text);
        return responseObject.parse(JSON.parse(text)).status === 'completed' ? text : undefined;
      });

    const former = await startGatewayProcess(configOf('data'), { folder: folder.path });
    await using _former = former;
    const file = await upload(former);
    const first = await submit(former, { input: 'What is a lighthouse?' });
    const response = await ended(former, first);
    const replay = await read(former, `/v1/responses/${first}?stream=true`);
    assert.match(replay.text, /event: response.completed/);
    const requestsBefore = provider.requests.length;
    const open = await submit(former, { input: 'What is Elmsworth?' });
    await provider.waitForRequest(requestsBefore + 1);

    await mkdir(join(folder.path, 'restored'));
    const config = join(folder.path, 'gateway.yaml');
    await writeFile(config, stringify(configOf('data')));
    const copy = join(folder.path, 'restored', 'runs.db');
    await using backup = new Spawned(process.execPath, [PROGRAM, 'store', 'backup', copy, '--config', config]);
    assert.equal(await backup.closed(), 0, backup.output.err);
    await cp(join(folder.path, 'data', 'files'), join(folder.path, 'restored', 'files'), { recursive: true });

    goOn.resolve();
    await ended(former, open);
    const late = await submit(former, { input: 'What came after it?' });
    await ended(former, late);
    assert.equal(await former.terminate(), 0);
    assert.deepEqual((await readdir(join(folder.path, 'restored'))).sort(), ['files', 'runs.db']);

    await using restored = await startGatewayProcess(configOf('restored'), { folder: folder.path });
    assert.deepEqual(await read(restored, `/v1/responses/${first}`), { status: 200, text: response });
    assert.deepEqual(await read(restored, `/v1/responses/${first}?stream=true`), replay);
    assert.deepEqual(await read(restored, `/v1/files/${file}/content`), { status: 200, text: DOCUMENT });
    assert.match(await ended(restored, open), /A tower with a lamp\./);
    assert.equal((await read(restored, `/v1/responses/${late}`)).status, 404);
  });
});

async function upload({ url }: { url: string }): Promise<string> {
  const body = new FormData();
  body.set('purpose', 'user_data');
  body.set('file', new Blob([DOCUMENT]), 'lighthouse.txt');
  const { authorization } = HEADERS;
  const answer = await fetch(`${url}/v1/files`, { method: 'POST', headers: { authorization }, body });
  const { id } = (await answer.json()) as { id: string };
  assert.equal(answer.status, 200);
  return id;
}
