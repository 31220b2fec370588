import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../../src/base/logger.ts';
import { S3Connection } from '../../../src/files/s3/s3-connection.ts';
import { freePort } from '../free-port.ts';
import type { S3Store } from './s3-place.ts';

/** Starts a private MinIO, found in the `PATH`, with a bucket. */
export async function startMinio(): Promise<S3Store> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'minio-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const credentials = { accessKeyId: 'of-tests', secretAccessKey: randomBytes(16).toString('hex') };
  const address = `127.0.0.1:${await freePort()}`;
  const env = { ...process.env, MINIO_ROOT_USER: 'of-tests', MINIO_ROOT_PASSWORD: credentials.secretAccessKey };
  const child = spawn('minio', ['server', folder, '--address', address, '--quiet'], { env, stdio: 'ignore' });
  const ended = once(child, 'exit');
  stack.defer(async () => {
    child.kill();
    await ended;
  });
  const store = { endpoint: `http://${address}`, region: 'us-east-1', bucket: 'files-of-tests', credentials };
  using connection = new S3Connection({ ...store, log: silentLogger });
  const makeBucket = () =>
    connection.send({ method: 'PUT', path: `/${store.bucket}` }, new AbortController().signal).then(
      () => true,
      () => false,
    );
  // It listens some time after it was started; each attempt waits between its tries.
  while (!(await makeBucket())) if (child.exitCode !== null) throw new Error('minio has ended');
  const owned = stack.move();
  return { ...store, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
