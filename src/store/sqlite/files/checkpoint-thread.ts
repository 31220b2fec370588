/**
 * Entry of the thread that moves the write-ahead log into the database. It has a connection of its own, so that the event
 * loop of the gateway never waits for the disk over it.
 */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

const { url }: { url: string } = workerData;
const db = new DatabaseSync(new URL(url));
const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');

parentPort?.on('message', () => {
  checkpoint.get();
  parentPort?.postMessage('done');
});
