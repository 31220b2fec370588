/**
 * Entry of the thread that checkpoints the write-ahead log into the database. It has its own connection, so the event
 * loop of the gateway never waits for the disk.
 */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

const { url }: { url: string } = workerData;
const db = new DatabaseSync(new URL(url));
const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');

parentPort?.on('message', () => {
  try {
    checkpoint.get();
  } catch {
    // The disk may be full for now. If the log grows on, the writing connection checkpoints it.
  }
  parentPort?.postMessage('done');
});
