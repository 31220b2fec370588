import type { Logger } from '../base/logger.ts';
import { makeTemporaryFolder } from '../base/temporary-folder.ts';
import type { GatewayConfig } from '../config/schema.ts';
import type { BlobStore } from './blob-store.ts';
import { FolderBlobStore } from './folder-blob-store.ts';
import { S3BlobStore } from './s3/s3-blob-store.ts';

/** Opens the blob store that `files.url` names; without a URL, a temporary folder that is removed with the process. */
export function openBlobStore({ url, ...files }: GatewayConfig['files'], log: Logger): BlobStore {
  if (url === undefined) return new FolderBlobStore(makeTemporaryFolder('files'), { log, isTemporary: true });
  if (!url.startsWith('s3://')) return new FolderBlobStore(url.slice('file:'.length), { log });
  const { region = 'us-east-1', access_key_id: accessKeyId = '', secret_access_key: secretAccessKey = '' } = files;
  const { endpoint = `https://s3.${region}.amazonaws.com` } = files;
  return new S3BlobStore({ url, endpoint, region, credentials: { accessKeyId, secretAccessKey }, log });
}
