/**
 * Entry of the child process that makes one document of a report; see `documents.ts`. It has no permissions beyond
 * reading its own code, and the parent ends it when it takes too long.
 */
import '../../base/node/polyfills.ts';
import type { ReportFormat } from '../../protocol/report.ts';
import type { Report } from '../../runs/projections/report.ts';
import { reportDocx } from './docx/docx-document.ts';
import { reportDocument } from './html-document.ts';
import { reportJson } from './json-document.ts';

/** The formats for which Markdown has to be parsed. */
export type DocumentFormat = Exclude<ReportFormat, 'md'>;

const WRITERS: Readonly<Record<DocumentFormat, (report: Report) => string | Buffer>> = {
  html: reportDocument,
  docx: reportDocx,
  json: reportJson,
};

process.on('message', ({ report, format }: { report: Report; format: DocumentFormat }) => {
  process.send?.('begun');
  process.send?.({ body: Buffer.from(WRITERS[format](report)) });
});
process.on('disconnect', () => process.exit(0));
process.send?.('started');
