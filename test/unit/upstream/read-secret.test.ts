import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSecret } from '../../../src/upstream/credentials/read-secret.ts';

const never = new AbortController().signal;
const sh = (script: string, timeoutMs = 5000) =>
  readSecret({ kind: 'command', command: ['sh', '-c', script], refreshMs: 1, timeoutMs }, never);

describe('readSecret', () => {
  it('returns what a command prints, without surrounding whitespace', async () => {
    assert.equal(await sh('echo; echo " Bearer sk-printed "'), 'Bearer sk-printed');
  });

  it('refuses a command that fails or prints nothing, several lines or too much, and quotes none of it', async () => {
    const refused: [string, RegExp][] = [
      ['echo sk-secret; exit 3', /^Error: the command ended with 3$/],
      ['echo sk-secret; kill -9 $$', /^Error: the command ended with SIGKILL$/],
      ['true', /^Error: the command gave nothing$/],
      ['echo sk-secret; echo sk-secret', /^Error: the command gave something else than one line of ASCII$/],
      ['yes sk-secret', /^Error: the command gave more than 16384 characters$/],
    ];
    for (const [script, message] of refused) await assert.rejects(sh(script), message, script);
    const missing = { kind: 'command' as const, command: ['/nowhere/sk'], refreshMs: 1, timeoutMs: 5000 };
    await assert.rejects(readSecret(missing, never), /cannot be started \(ENOENT\)/);
    await assert.rejects(
      readSecret({ kind: 'file', file: '/nowhere', refreshMs: 1 }, never),
      /cannot be read \(ENOENT\)/,
    );
  });

  it('reads plain files only, up to the size limit of a secret', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'secret-'));
    const large = join(folder, 'large');
    await writeFile(large, Buffer.alloc(1024 * 1024, 'sk-secret'));
    const from = (file: string) => readSecret({ kind: 'file', file, refreshMs: 1 }, never);
    await assert.rejects(from(large), /^Error: the file gave more than 16384 characters$/);
    for (const file of ['/dev/zero', folder]) await assert.rejects(from(file), /no plain file/, file);
    await rm(folder, { recursive: true });
  });

  it('gives up a command that takes too long, even if a child holds its output open', async () => {
    await assert.rejects(sh('sleep 3600 & sleep 3600', 50), /the command/);
  });

  it('stops waiting when the signal aborts', async () => {
    const leaving = new AbortController();
    const waiting = readSecret(
      { kind: 'command', command: ['sleep', '3600'], refreshMs: 1, timeoutMs: 60_000 },
      leaving.signal,
    );
    leaving.abort(new Error('leaving'));
    await assert.rejects(waiting, /leaving/);
  });
});
