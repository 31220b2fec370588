import { isOffice, type ParsedDocument, type ParseJob } from '../parsing/parse-job.ts';
import { readHtml } from './html/html.ts';
import { isCaptions, readCaptions } from './plain/captions.ts';
import { decodeText } from './plain/charset.ts';
import { readCsv } from './plain/csv.ts';
import { readFeed } from './plain/feed.ts';
import { readJsonText } from './plain/json-text.ts';
import { isMessage, readMessage } from './plain/message.ts';
import { cutContent, readPlainText, readText } from './plain/read-text.ts';
import { numberPageLinks } from './reference-links.ts';

/** Reads a body of any kind. Runs in the child process. */
export async function read(job: ParseJob): Promise<ParsedDocument> {
  const document = await readKind(job);
  // The links of a body that was already Markdown stay unchanged.
  const hasWrittenLinks = job.kind === 'html' || isOffice(job.kind);
  const { content, links } = job.referenceLinks && hasWrittenLinks ? numberPageLinks(document.content) : document;
  const maxLength = isPlain(job.kind) ? job.maxLength : undefined;
  return { ...tidyMetadata(document), ...cutContent(content, maxLength), ...(links ? { links } : {}) };
}

/** The longest value of metadata, in UTF-16 code units: each is shown on one line, and stored with every page. */
const MAX_METADATA_LENGTH = 300;

/** The document without empty metadata, and with no value too long. */
function tidyMetadata(document: ParsedDocument): ParsedDocument {
  const tidied = { ...document };
  for (const name of ['author', 'published', 'updated', 'language'] as const) if (!tidied[name]) delete tidied[name];
  if (tidied.updated === tidied.published) delete tidied.updated;
  for (const name of ['title', 'author', 'published', 'updated', 'language'] as const) {
    const text = tidied[name];
    if (text !== undefined && text.length > MAX_METADATA_LENGTH)
      tidied[name] = `${text.slice(0, MAX_METADATA_LENGTH - 1).toWellFormed()}…`;
  }
  return tidied;
}

/** Whether a body of this kind is read in full, up to `maxLength`. */
function isPlain(kind: ParseJob['kind']): boolean {
  return kind === 'text' || kind === 'markdown' || kind === 'csv' || kind === 'json';
}

/** Whether the root of a document is `<html>`. */
function isXhtml(xml: string): boolean {
  return /^(?:\s|<[?!][^>]*>)*<html[\s>]/i.test(xml.slice(0, 2000));
}

async function readKind(job: ParseJob): Promise<ParsedDocument> {
  if (job.isPlainTextOnly) return readPlainText(job);
  const { kind, bytes, url } = job;
  if (kind === 'pdf') {
    // The PDF reader is large, so only the first PDF loads it.
    const { readPdf } = await import('./pdf/pdf.ts');
    return await readPdf(bytes, { softLimitMs: job.softLimitMs });
  }
  if (isOffice(kind)) {
    const { readOffice } = await import('./office/office.ts');
    return await readOffice({ kind, bytes });
  }
  const text = decodeText(bytes, job.charset);
  if (kind === 'html') return readHtml(text, url);
  if (kind === 'xml' && isXhtml(text)) return readHtml(text, url);
  if (kind === 'xml') return readFeed(text, url) ?? { title: '', content: text };
  if (kind === 'csv') return { title: '', content: readCsv(text, job.maxLength) };
  if (kind === 'json') return { title: '', content: readJsonText(text) ?? text };
  if (kind === 'text' && isMessage(text)) return readMessage(bytes, url);
  if (kind === 'text' && isCaptions(text)) return { title: '', content: readCaptions(text) };
  return readText(job);
}
