import type { OfficeKind, ParsedDocument } from '../../parsing/parse-job.ts';
import { readDocx } from './docx.ts';
import { readEpub } from './epub.ts';
import { readOdf } from './odf.ts';
import { readPptx } from './pptx.ts';
import { readRtf } from './rtf.ts';
import { readXlsx } from './xlsx.ts';
import { ZipFile } from './zip-file.ts';

const READERS: Readonly<Record<Exclude<OfficeKind, 'rtf'>, (zip: ZipFile) => Promise<ParsedDocument>>> = {
  docx: readDocx,
  epub: readEpub,
  odf: readOdf,
  pptx: readPptx,
  xlsx: readXlsx,
};

/**
 * Reads an Office document, an e-book or rich text.
 * @throws Error if the file is damaged or encrypted, has no text or unpacks to too much.
 */
export async function readOffice({ kind, bytes }: { kind: OfficeKind; bytes: Uint8Array }): Promise<ParsedDocument> {
  const document = kind === 'rtf' ? readRtf(bytes) : await READERS[kind](await ZipFile.open(bytes));
  if (document.content === '') throw new Error('the document has no text');
  return document;
}
