import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../../src/base/logger.ts';
import { CredentialCipher } from '../../../src/base/secrets/encrypt.ts';
import { readInput } from '../../../src/runs/stored/stored-request.ts';
import type { RequestedMcpServer } from '../../../src/tools/mcp/mcp-server.ts';
import { openHarness, question, readAll, runToEnd } from '../../support/run-harness.ts';
import { ScriptedModel } from '../../support/scripted-model.ts';
import { openStore } from '../../support/wrapped-store.ts';

const SERVER: RequestedMcpServer = {
  name: 'notes',
  url: 'https://mcp.example/sse',
  headers: { 'x-tenant': 'canary-header-1' },
  accessToken: 'canary-token-2',
  oauth: { clientId: 'canary-client-3', clientSecret: 'canary-secret-4' },
};

describe('credentials of MCP servers in a request', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'encrypted-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('reach the tools of the run, and are never stored in plain text', async () => {
    const store = await openStore(
      { url: `file:${folder}`, retentionMs: 3_600_000, sync: 'normal' },
      { log: silentLogger },
    );
    const opened: unknown[] = [];
    {
      await using harness = await openHarness({
        chat: new ScriptedModel([]),
        store,
        onOpenTools: ({ mcpServers }) => void opened.push(mcpServers),
      });
      const { run, bytes } = await runToEnd(harness, question({ research: { mcpServers: [SERVER] } }));
      assert.deepEqual(opened, [[SERVER]]);
      const shown = [run.request, bytes.toString(), ...(await store.readTranscript(run.id))];
      shown.push(JSON.stringify([await harness.runs.response(run), readInput(run)]));
      for (const text of shown) assert.doesNotMatch(text, /canary/);
    }
    await store.close();
    for (const file of await readdir(folder)) {
      const stored = await readFile(join(folder, file));
      assert.equal(stored.includes('canary'), false, file);
    }
  });

  it('are decrypted by the instance that takes the run over', async () => {
    const store = await openStore(
      { url: `file:${folder}`, retentionMs: 3_600_000, sync: 'normal' },
      { log: silentLogger },
    );
    const opened: unknown[] = [];
    const onOpenTools = ({ mcpServers }: { mcpServers: unknown }) => void opened.push(mcpServers);
    const first = await openHarness({ chat: new ScriptedModel(() => ({ gate: new Promise(() => {}) })), store });
    const { run } = await first.runs.submit(question({ research: { mcpServers: [SERVER] } }));
    await first.executor.stop({ graceMs: 0 });
    await first[Symbol.asyncDispose]();
    let looks = 0;
    {
      // This instance learns of the key a moment later.
      const knowsKey = () => ++looks > 3;
      await using second = await openHarness({ chat: new ScriptedModel([]), store, onOpenTools, knowsKey });
      await readAll(second.runs, run);
    }
    assert.deepEqual(opened, [[SERVER]]);
    assert.ok(looks > 3);
    await store.close();
  });

  it("need the operator's key if there is one, and stay readable after a change of keys", () => {
    const hash = 'ab'.repeat(32);
    const [old, next] = ['o'.repeat(32), 'n'.repeat(32)];
    const alone = new CredentialCipher(hash, []);
    const mixed = new CredentialCipher(hash, [old]);
    const changed = new CredentialCipher(hash, [next, old]);
    assert.equal(changed.decrypt(alone.encrypt('a token')), 'a token');
    assert.equal(changed.decrypt(mixed.encrypt('a token')), 'a token');
    for (const other of [alone, mixed, new CredentialCipher('cd'.repeat(32), [next])])
      assert.throws(() => other.decrypt(changed.encrypt('a token')), /key that is gone/);
  });

  it("are stored under a newer data version if they need the operator's key", async () => {
    const submitted = question({ research: { mcpServers: [SERVER] } });
    const version = async (encryptionKeys: readonly string[]) => {
      await using harness = await openHarness({ chat: new ScriptedModel([]), encryptionKeys });
      return JSON.parse((await harness.runs.submit(submitted)).run.request).v;
    };
    assert.deepEqual([await version([]), await version(['k'.repeat(32)])], [1, 3]);
  });
});
