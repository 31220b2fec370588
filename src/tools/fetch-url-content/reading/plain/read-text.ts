import { firstHeading } from '../../../text/markdown-heading.ts';
import { MAX_CONTENT, type ParsedDocument, type ParseJob } from '../../parsing/parse-job.ts';
import { decodeText } from './charset.ts';

/** Reads a body of a plain kind unchanged. Numbers in JSON keep every digit, because nothing is re-serialised. */
export function readText(job: Pick<ParseJob, 'kind' | 'bytes' | 'charset' | 'longest'>): ParsedDocument {
  const text = decodeText(job.bytes, { charset: job.charset });
  const heading = job.kind === 'markdown' ? firstHeading(text) : undefined;
  return { title: heading ?? '', ...cutContent(text, job.longest) };
}

/** Cuts the content of a document at `longest` UTF-16 code units. */
export function cutContent(content: string, longest = MAX_CONTENT): Pick<ParsedDocument, 'content' | 'incomplete'> {
  if (content.length <= longest) return { content };
  return { content: content.slice(0, longest), incomplete: `only its first ${longest} characters were read` };
}
