import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { silentLogger } from '../../../src/base/logger.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { Files, publicFileId } from '../../../src/files/files.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { S3Server } from '../../support/s3/s3-server.ts';

const HOUR = 3_600_000;
const signal = new AbortController().signal;

/** Files in a store that speaks S3. */
async function setUp() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await S3Server.start());
  const { endpoint, region, bucket, credentials } = server;
  const config = configSchema.parse({
    providers: {},
    models: {},
    keys: [{ id: 'ann', secret: 'sk-ann' }],
    files: {
      url: `s3://${bucket}`,
      endpoint,
      region,
      access_key_id: credentials.accessKeyId,
      secret_access_key: credentials.secretAccessKey,
    },
  });
  const store = stack.adopt(openSqliteStore('memory:', { sync: 'normal', log: silentLogger }), (open) => open.close());
  const clock = { at: Date.now(), now: () => clock.at };
  const files = stack.use(
    new Files({ store: store.sideStores.files, entries: store.sideStores.entries, config, clock, log: silentLogger }),
  );
  const add = async (keepMs?: number) => {
    await using taken = await files.receive(Readable.from([Buffer.from('some text')]), { user: 'ann', signal });
    return await files.add(taken, { user: 'ann', name: 'a.txt', purpose: 'user_data', type: 'text/plain', keepMs });
  };
  const owned = stack.move();
  return { server, files, clock, add, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe('uploaded files', () => {
  it('stay until their bytes are deleted, and a failed removal can be repeated', async () => {
    await using world = await setUp();
    const file = await world.add();
    const id = publicFileId(file.id);
    world.server.fault = ({ operation }) =>
      operation === 'DeleteObject' ? { status: 403, code: 'AccessDenied' } : undefined;
    await assert.rejects(world.files.remove(file), { code: 'store_unavailable' });
    assert.equal((await world.files.find('ann', id)).id, file.id);
    world.server.fault = () => undefined;
    await world.files.remove(file);
    await assert.rejects(world.files.find('ann', id), { code: 'not_found' });
    assert.equal(world.server.objects.size, 0);
  });

  it('are gone everywhere once they expire, even before they are removed', async () => {
    await using world = await setUp();
    const [short, long] = [await world.add(HOUR), await world.add()];
    const listed = async () => {
      const { files } = await world.files.list({ user: 'ann', limit: 10, order: 'asc' });
      return files.map(({ id }) => id).toSorted();
    };
    assert.deepEqual(await listed(), [short.id, long.id].toSorted());
    world.clock.at += HOUR;
    assert.deepEqual(await listed(), [long.id]);
    await assert.rejects(world.files.find('ann', publicFileId(short.id)), { code: 'not_found' });
    assert.equal(await world.files.readAttached('ann', publicFileId(short.id), signal), undefined);
  });
});
