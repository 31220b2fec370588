import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createLogger, silentLogger } from '../../src/base/logger.ts';
import { FolderBlobStore } from '../../src/files/folder-blob-store.ts';
import { startMinio } from '../support/s3/minio.ts';
import { openS3Place } from '../support/s3/s3-place.ts';
import { S3Server } from '../support/s3/s3-server.ts';
import { describeFilePlace } from './file-place.ts';

describeFilePlace('a folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'files-'));
  return {
    place: new FolderBlobStore(folder, { log: silentLogger }),
    stored: async () => {
      const found = await readdir(folder, { recursive: true, withFileTypes: true });
      return found.filter((entry) => entry.isFile()).map(({ name }) => name);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
});

describe('a folder of files that cannot be written', () => {
  it('is named in the log with the reason, which the client does not get', async () => {
    const lines: string[] = [];
    const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
    const place = new FolderBlobStore('/dev/null/files', { log });
    const { signal } = new AbortController();
    const receiving = place.receive(Readable.from(['some text']), { id: 'ab', maxBytes: 100, signal });
    await assert.rejects(receiving, { code: 'store_unavailable', message: /^The file storage is not available/ });
    assert.match(lines.join(), /"level":40.*ENOTDIR.*files\.url/);
  });
});

for (const prefix of ['', '/of/a-team']) {
  describeFilePlace(
    `an S3 store with prefix "${prefix}"`,
    async () => openS3Place(await S3Server.start({ pageSize: 2 }), { prefix }),
    // The prefix does not affect multipart uploads: large files are tested once.
    { large: prefix !== '' },
  );
}

if (spawnSync('minio', ['--version']).error) {
  describe('files in MinIO', () => {
    it.skip('follow the contract: there is no minio in the PATH', () => {});
  });
} else describeFilePlace('MinIO', async () => openS3Place(await startMinio(), { prefix: '/some' }));
