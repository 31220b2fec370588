import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';
import { FileFolder } from './file-folder.ts';
import type { FilePlace } from './file-place.ts';
import { S3Files } from './s3/s3-files.ts';

/** The place that `files.url` names; one that ends with the process where it names none. */
export function openPlace({ url, ...files }: GatewayConfig['files'], log: Logger): FilePlace {
  if (url === undefined) {
    return new FileFolder(mkdtempSync(join(tmpdir(), 'research-gateway-files-')), { isTemporary: true });
  }
  if (!url.startsWith('s3://')) return new FileFolder(url.slice('file:'.length));
  const { region = 'us-east-1', access_key_id: accessKeyId = '', secret_access_key: secretAccessKey = '' } = files;
  const { endpoint = `https://s3.${region}.amazonaws.com` } = files;
  return new S3Files({ url, endpoint, region, credentials: { accessKeyId, secretAccessKey }, log });
}
