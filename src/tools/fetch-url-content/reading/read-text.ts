import { MAX_CONTENT, type ParsedDocument, type ParseJob } from '../parsing/parse-job.ts';
import { decodeText } from './charset.ts';

/** Kinds that are readable as they are; they need no parser and no child process. */
export function isPlainKind(kind: ParseJob['kind']): boolean {
  return kind === 'markdown' || kind === 'text' || kind === 'json';
}

/** A body of a plain kind as it is. Numbers in JSON keep every digit, because nothing is re-serialised. */
export function readText(job: Pick<ParseJob, 'kind' | 'bytes' | 'charset'>): ParsedDocument {
  const text = decodeText(job.bytes, { charset: job.charset });
  const heading = job.kind === 'markdown' ? /^#{1,2}\s+(.+?)\s*#*$/m.exec(text.slice(0, 20_000))?.[1] : undefined;
  return { title: heading ?? '', ...bounded(text) };
}

/** The content, cut at the limit of what is kept. */
export function bounded(content: string): Pick<ParsedDocument, 'content' | 'incomplete'> {
  if (content.length <= MAX_CONTENT) return { content };
  return { content: content.slice(0, MAX_CONTENT), incomplete: 'the document is very long' };
}
