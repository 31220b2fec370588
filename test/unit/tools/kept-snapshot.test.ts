import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepSnapshot, openKept } from '../../../src/tools/execute-python/kept-snapshot.ts';

describe('a kept snapshot of the Python interpreter', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kept-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const kept = async (key: string) => {
    const file = await openKept(key, folder);
    const { bytesRead, buffer } = (await file?.read(Buffer.alloc(100), 0, 100, 0)) ?? {};
    await file?.close();
    return buffer?.subarray(0, bytesRead).toString();
  };

  it('is read by whoever needs the same, in place of the ones before it', async () => {
    assert.equal(await kept('v1'), undefined);
    await keepSnapshot('v1', Buffer.from('the first'), folder);
    assert.equal(await kept('v1'), 'the first');
    await keepSnapshot('v2', Buffer.from('the second'), folder);
    assert.deepEqual([await kept('v1'), await kept('v2')], [undefined, 'the second']);
    assert.equal((await readdir(folder)).length, 1);
  });

  it('is not used if it was cut or changed', async () => {
    await keepSnapshot('v1', Buffer.from('the first'), folder);
    const [name = ''] = await readdir(folder);
    await truncate(join(folder, name), 5);
    assert.equal(await kept('v1'), undefined);
    await writeFile(join(folder, name), 'the other');
    assert.equal(await kept('v1'), undefined);
  });
});
