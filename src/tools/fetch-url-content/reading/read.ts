import { isOffice, type ParsedDocument, type ParseJob } from '../parsing/parse-job.ts';
import { readHtml } from './html/html.ts';
import { isCaptions, readCaptions } from './plain/captions.ts';
import { decodeText } from './plain/charset.ts';
import { readCsv } from './plain/csv.ts';
import { readFeed } from './plain/feed.ts';
import { readJsonText } from './plain/json-text.ts';
import { readPlainly } from './plain/read-plainly.ts';
import { bounded, readText } from './plain/read-text.ts';
import { withReferences } from './reference-links.ts';

/** Reads a body of any kind. Runs in the child process. */
export async function read(job: ParseJob): Promise<ParsedDocument> {
  const document = await readKind(job);
  // Text that is Markdown by itself is shown as it is.
  const hasOurLinks = job.kind === 'html' || isOffice(job.kind);
  const { content, links } = job.referenceLinks && hasOurLinks ? withReferences(document.content) : document;
  const longest = isPlain(job.kind) ? job.longest : undefined;
  return { ...withShortMetadata(document), ...bounded(content, longest), ...(links ? { links } : {}) };
}

/** What a document says of itself, each in UTF-16 code units: it is shown in one line, and kept with every page. */
const LONGEST_METADATA = 300;

function withShortMetadata(document: ParsedDocument): ParsedDocument {
  const shown = { ...document };
  for (const name of ['title', 'author', 'published', 'updated', 'language'] as const) {
    const text = shown[name];
    if (text !== undefined && text.length > LONGEST_METADATA)
      shown[name] = `${text.slice(0, LONGEST_METADATA - 1).toWellFormed()}…`;
  }
  return shown;
}

/** Whether its reader keeps all of it. */
function isPlain(kind: ParseJob['kind']): boolean {
  return kind === 'text' || kind === 'markdown' || kind === 'csv' || kind === 'json';
}

async function readKind(job: ParseJob): Promise<ParsedDocument> {
  if (job.plainly) return readPlainly(job);
  if (job.kind === 'pdf') {
    // Loaded when the first PDF comes: it is large.
    const { readPdf } = await import('./pdf/pdf.ts');
    return await readPdf(job.bytes, { softLimitMs: job.softLimitMs });
  }
  const { kind, bytes, url } = job;
  if (isOffice(kind)) {
    const { readOffice } = await import('./office/office.ts');
    return await readOffice({ kind, bytes, url });
  }
  const text = decodeText(job.bytes, { charset: job.charset });
  if (job.kind === 'html') return readHtml(text, job.url);
  if (job.kind === 'xml') return readFeed(text, job.url) ?? { title: '', content: text };
  if (job.kind === 'csv') return { title: '', content: readCsv(text, job.longest) };
  if (job.kind === 'json') return { title: '', content: readJsonText(text) ?? text };
  if (job.kind === 'text' && isCaptions(text)) return { title: '', content: readCaptions(text) };
  return readText(job);
}
