import { htmlToText } from '../../../text/html-text.ts';
import type { ParsedDocument, ParseJob } from '../../parsing/parse-job.ts';
import { decodeText } from './charset.ts';

/** How much of a body that broke the parser is read, in bytes. */
const MAX_BYTES = 2_000_000;

/** Reads the plain text of a body without parsing it: for documents that break the parser. Linear in their size. */
export function readPlainText(job: ParseJob): ParsedDocument {
  const text = decodeText(job.bytes.subarray(0, MAX_BYTES), job.charset);
  const incomplete = 'only its plain text could be read';
  if (job.kind !== 'html' && job.kind !== 'xml') return { title: '', content: text, incomplete };
  const page = htmlToText(text);
  return { title: page.title, content: page.text, incomplete };
}
