import type { OfficeKind, ParsedDocument } from '../../parsing/parse-job.ts';
import { readDocx } from './docx.ts';
import { readEpub } from './epub.ts';
import { readOdf } from './odf.ts';
import { readPptx } from './pptx.ts';
import { readRtf } from './rtf.ts';
import { readXlsx } from './xlsx.ts';
import { ZipFile } from './zip-file.ts';

interface OfficeJob {
  kind: OfficeKind;
  bytes: Uint8Array;
}

/**
 * Reads an Office document, an e-book or rich text.
 * @throws Error if the file is damaged or encrypted, has no text or unpacks to too much.
 */
export async function readOffice(job: OfficeJob): Promise<ParsedDocument> {
  const document = await readKind(job);
  if (document.content === '') throw new Error('the document has no text');
  return document;
}

async function readKind({ kind, bytes }: OfficeJob): Promise<ParsedDocument> {
  if (kind === 'rtf') return readRtf(bytes);
  const zip = await ZipFile.open(bytes);
  switch (kind) {
    case 'docx':
      return readDocx(zip);
    case 'pptx':
      return readPptx(zip);
    case 'xlsx':
      return readXlsx(zip);
    case 'odf':
      return readOdf(zip);
    case 'epub':
      return readEpub(zip);
  }
}
