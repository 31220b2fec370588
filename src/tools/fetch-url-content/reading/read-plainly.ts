import { htmlToText } from '../../text/html-text.ts';
import type { ParsedDocument, ParseJob } from '../parsing/parse-job.ts';
import { decodeText } from './charset.ts';

/** This runs in the gateway itself, so it must not keep its event loop busy: some 50 ms at worst. In bytes. */
const MAX_BYTES = 400_000;

/** What can be made of a body without parsing it: for documents that break the parser. Linear in their size. */
export function readPlainly(job: Pick<ParseJob, 'kind' | 'bytes' | 'charset'>): ParsedDocument | undefined {
  if (job.kind === 'pdf') return undefined;
  const text = decodeText(job.bytes.subarray(0, MAX_BYTES), { charset: job.charset });
  const incomplete = 'only its plain text could be read';
  if (job.kind !== 'html' && job.kind !== 'xml') return { title: '', content: text, incomplete };
  const page = htmlToText(text);
  return { title: page.title, content: page.text, incomplete };
}
