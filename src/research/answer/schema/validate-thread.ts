import { parentPort, workerData } from 'node:worker_threads';
import { compileSchema } from './json-schema.ts';
import type { ThreadMessage, Validation } from './validation.ts';

/** The thread of `validateApart`: one check, then it is ended. */

const tell = (message: ThreadMessage) => parentPort?.postMessage(message);
const { schema, value }: Validation = workerData;
tell({ said: 'begun' });
tell({ said: 'done', problem: compileSchema(schema)(value) });
