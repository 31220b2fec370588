import type { OfficeKind, ParsedDocument } from '../../parsing/parse-job.ts';
import { readDocx } from './docx.ts';
import { readEpub } from './epub.ts';
import { readOdf } from './odf.ts';
import { readPptx } from './pptx.ts';
import { readRtf } from './rtf.ts';
import { readXlsx } from './xlsx.ts';
import { ZipFile } from './zip-file.ts';

/**
 * Reads an Office document, an e-book or rich text.
 * @throws Error for files that are damaged, encrypted, have no text or unpack to too much.
 */
export function readOffice(job: { kind: OfficeKind; bytes: Uint8Array; url: string }): ParsedDocument {
  const document = readKind(job);
  if (document.content === '') throw new Error('the document has no text');
  return document;
}

function readKind({ kind, bytes, url }: { kind: OfficeKind; bytes: Uint8Array; url: string }): ParsedDocument {
  switch (kind) {
    case 'docx':
      return readDocx(new ZipFile(bytes));
    case 'pptx':
      return readPptx(new ZipFile(bytes));
    case 'xlsx':
      return readXlsx(new ZipFile(bytes));
    case 'odf':
      return readOdf(new ZipFile(bytes));
    case 'epub':
      return readEpub(new ZipFile(bytes), url);
    case 'rtf':
      return readRtf(bytes);
  }
}
