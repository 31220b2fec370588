import { MAX_CONTENT } from '../../parsing/parse-job.ts';
import { readWhole } from '../html/html.ts';
import { isMessage, readMessage } from '../plain/message.ts';
import type { PackagePart } from './package-parts.ts';
import { readRtf } from './rtf.ts';
import type { ZipFile } from './zip-file.ts';

/**
 * The chunks of other formats that programs put into a Word document for it to convert (ECMA-376, part 1, 17.17.2), as
 * Markdown, by their paths. Whole Word documents among them are left out.
 */
export async function foreignChunks(zip: ZipFile, main: PackagePart): Promise<Map<string, string>> {
  const chunks = new Map<string, string>();
  let length = 0;
  for (const path of main.related('aFChunk')) {
    if (chunks.has(path)) continue;
    // No more of the document is read anyway.
    if (length > MAX_CONTENT) break;
    const text = textOf(await zip.text(path));
    chunks.set(path, text);
    length += text.length;
  }
  return chunks;
}

function textOf(chunk: string): string {
  if (chunk.startsWith('PK')) return '';
  if (chunk.startsWith('{\\rtf')) return readRtf(Buffer.from(chunk, 'latin1')).content;
  if (isMessage(chunk)) return readMessage(Buffer.from(chunk), '').content;
  return /^\s*</.test(chunk) ? readWhole(chunk, 'about:blank') : chunk;
}
