import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { INSTALL_TIMEOUT_MS, loadClient } from '../support/client-package.ts';
import { send } from '../support/http-client.ts';
import { KEYS, openGateway } from '../support/http-gateway.ts';

const run = promisify(execFile);
const CLIENTS = fileURLToPath(new URL('../clients/', import.meta.url));
const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));

interface TypedClient {
  useTypedClient(target: { baseUrl: string; key: string; model: string }): Promise<Record<string, unknown>>;
}

describe('a client generated from /openapi.json', () => {
  before(async function () {
    this.timeout(INSTALL_TIMEOUT_MS);
    await loadClient('openapi-fetch');
  });
  after(() => rm(`${CLIENTS}generated`, { recursive: true, force: true }));

  it('type-checks and works', async () => {
    await using gateway = await openGateway();
    const { text } = await send(gateway, 'GET /openapi.json', { key: null });
    await mkdir(`${CLIENTS}generated`, { recursive: true });
    await writeFile(`${CLIENTS}generated/openapi.json`, text);
    const bin = (name: string) => `${CLIENTS}node_modules/.bin/${name}`;
    await run(bin('openapi-typescript'), ['generated/openapi.json', '-o', 'generated/gateway.d.ts'], { cwd: CLIENTS });
    // Any property that does not exist, and any type that is not what it should be, is an error here.
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--ignoreConfig',
    ];
    await run(process.execPath, [TSC, ...options, 'typed-client.ts'], { cwd: CLIENTS }).catch((error) =>
      assert.fail(`the generated types do not fit: ${error.stdout}`),
    );
    const client = await loadClient<TypedClient>('./typed-client.ts');
    const used = await client.useTypedClient({ baseUrl: gateway.url, key: KEYS.ann, model: 'deep' });
    assert.deepEqual(
      [used.text, used.output, used.warnings, used.listed, used.refused],
      ['You said: Hello.', 'You said: Hello.', ['no_sources'], [used.id], 'not_found'],
    );
  });
});
