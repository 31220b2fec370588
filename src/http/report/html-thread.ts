import { parentPort, workerData } from 'node:worker_threads';
import type { Report } from '../../runs/projections/report.ts';
import { reportDocument } from './html-document.ts';

/** The thread that makes one HTML report; see `html.ts`. */
const report: Report = workerData;
parentPort?.postMessage('begun');
parentPort?.postMessage({ html: reportDocument(report) });
