import type { Logger } from '../../../src/base/logger.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { S3BlobStore } from '../../../src/files/s3/s3-blob-store.ts';
import { S3Bucket } from '../../../src/files/s3/s3-bucket.ts';
import { S3Connection, type S3Times } from '../../../src/files/s3/s3-connection.ts';
import type { S3Credentials } from '../../../src/files/s3/sign-request.ts';

/** A store that speaks S3, with a bucket that is there. */
export interface S3Store extends AsyncDisposable {
  endpoint: string;
  region: string;
  bucket: string;
  credentials: S3Credentials;
}

/** Files in a store, which is disposed of with them. */
export function openS3Place(
  store: S3Store,
  { prefix = '', log = silentLogger, times = {} }: { prefix?: string; log?: Logger; times?: Partial<S3Times> } = {},
) {
  const { endpoint, region, credentials } = store;
  const options = { endpoint, region, credentials, log, times };
  const place = new S3BlobStore({ url: `s3://${store.bucket}${prefix}`, ...options });
  const connection = new S3Connection(options);
  const bucket = new S3Bucket(connection, store.bucket);
  const { signal } = new AbortController();
  return {
    place,
    /** The names of objects, and of uploads that have not ended. */
    async stored(): Promise<string[]> {
      const found: string[] = [];
      for await (const { key } of bucket.list('', signal)) found.push(key.split('/').at(-1) ?? '');
      for await (const { key } of bucket.listUploads('', signal)) found.push(`upload of ${key}`);
      return found;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      place[Symbol.dispose]();
      connection[Symbol.dispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}
