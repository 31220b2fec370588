/**
 * Entry of the child process that makes one HTML report; see `html.ts`. It has no permissions beyond reading its own
 * code, and the parent ends it when it takes too long.
 */
import type { Report } from '../../runs/projections/report.ts';
import { reportDocument } from './html-document.ts';

process.on('message', (report: Report) => process.send?.({ html: reportDocument(report) }));
process.on('disconnect', () => process.exit(0));
process.send?.('started');
