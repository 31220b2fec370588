import { htmlToText } from '../../../text/html-text.ts';
import { firstHeading } from '../../../text/markdown-heading.ts';
import { MAX_CONTENT, type ParsedDocument, type ParseJob } from '../../parsing/parse-job.ts';
import { decodeText } from './charset.ts';

/** How much of a body that broke the parser is read, in bytes. */
const MAX_BYTES = 2_000_000;

/** Reads a body of a plain kind unchanged. Numbers in JSON keep every digit, because nothing is re-serialised. */
export function readText(job: ParseJob): ParsedDocument {
  const text = decodeText(job.bytes, job.charset);
  const heading = job.kind === 'markdown' ? firstHeading(text) : undefined;
  return { title: heading ?? '', ...cutContent(text, job.maxLength) };
}

/** Cuts the content of a document at `maxLength` UTF-16 code units. */
export function cutContent(content: string, maxLength = MAX_CONTENT): Pick<ParsedDocument, 'content' | 'incomplete'> {
  if (content.length <= maxLength) return { content };
  return {
    content: content.slice(0, maxLength).toWellFormed(),
    incomplete: `only its first ${maxLength} characters were read`,
  };
}

/** Reads the plain text of a body without parsing it: for documents that break the parser. Linear in their size. */
export function readPlainText(job: ParseJob): ParsedDocument {
  const text = decodeText(job.bytes.subarray(0, MAX_BYTES), job.charset);
  const incomplete = 'only its plain text could be read';
  if (job.kind !== 'html' && job.kind !== 'xml') return { title: '', content: text, incomplete };
  const page = htmlToText(text);
  return { title: page.title, content: page.text, incomplete };
}
