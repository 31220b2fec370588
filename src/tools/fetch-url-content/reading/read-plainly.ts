import { htmlToText } from '../../text/html-text.ts';
import { MAX_CONTENT, type ParsedDocument, type ParseJob } from '../parsing/parse-job.ts';
import { decodeText } from './charset.ts';

/** What can be made of a body without parsing it: for documents that break the parser. Linear in their size. */
export function readPlainly(job: Pick<ParseJob, 'kind' | 'bytes' | 'charset'>): ParsedDocument | undefined {
  if (job.kind === 'pdf') return undefined;
  const text = decodeText(job.bytes.subarray(0, MAX_CONTENT), { charset: job.charset });
  const incomplete = 'only its plain text could be read';
  if (job.kind !== 'html' && job.kind !== 'xml') return { title: '', content: text, incomplete };
  const page = htmlToText(text);
  return { title: page.title, content: page.text, incomplete };
}
