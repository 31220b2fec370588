import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FolderBlobStore } from '../../src/files/folder-blob-store.ts';
import { startMinio } from '../support/s3/minio.ts';
import { openS3Place } from '../support/s3/s3-place.ts';
import { S3Server } from '../support/s3/s3-server.ts';
import { describeFilePlace } from './file-place.ts';

describeFilePlace('a folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'files-'));
  return {
    place: new FolderBlobStore(folder),
    stored: async () => {
      const found = await readdir(folder, { recursive: true, withFileTypes: true });
      return found.filter((entry) => entry.isFile()).map(({ name }) => name);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
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
