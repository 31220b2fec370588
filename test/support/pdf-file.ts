import { deflateSync } from 'node:zlib';

/** An object of a PDF: its dictionary or value as text, with a stream if it has one. */
export interface PdfObject {
  /** Without `/Length`, which is added for streams. */
  dictionary: string;
  stream?: Uint8Array;
}

/** A PDF of these objects, numbered from 1; the first is the catalogue. */
export function pdfOf(objects: readonly PdfObject[], trailer = ''): Uint8Array {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n%\u00e2\u00e3\u00cf\u00d3\n', 'latin1')];
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  const add = (part: Uint8Array | string) => {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part);
    parts.push(bytes);
    length += bytes.length;
  };
  for (const [at, { dictionary, stream }] of objects.entries()) {
    offsets.push(length);
    add(`${at + 1} 0 obj\n`);
    if (stream) {
      add(`${dictionary.replace(/>>\s*$/, '')} /Length ${stream.length} >>\nstream\n`);
      add(stream);
      add('\nendstream');
    } else add(dictionary);
    add('\nendobj\n');
  }
  const start = length;
  add(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`);
  for (const offset of offsets) add(`${String(offset).padStart(10, '0')} 00000 n \n`);
  add(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF\n`);
  return Buffer.concat(parts);
}

/** A line of a page: text at a place, in points from the lower left corner. */
export interface PdfLine {
  text: string;
  x: number;
  y: number;
  size?: number;
}

/** A document with text in Helvetica, each page a list of placed lines. */
export function textPdf(pages: readonly (readonly PdfLine[])[], info: Record<string, string> = {}): Uint8Array {
  const first = 4;
  const kids = pages.map((_, at) => `${first + at * 2} 0 R`).join(' ');
  const objects: PdfObject[] = [
    { dictionary: '<< /Type /Catalog /Pages 2 0 R >>' },
    { dictionary: `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>` },
    { dictionary: '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>' },
  ];
  for (const [at, lines] of pages.entries()) {
    objects.push({
      dictionary: `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${first + at * 2 + 1} 0 R >>`,
    });
    const content = lines.map(
      ({ text, x, y, size = 11 }) => `BT /F1 ${size} Tf 1 0 0 1 ${x} ${y} Tm (${literal(text)}) Tj ET`,
    );
    objects.push({
      dictionary: '<< /Filter /FlateDecode >>',
      stream: deflateSync(Buffer.from(content.join('\n'), 'latin1')),
    });
  }
  const entries = Object.entries(info).map(([name, value]) => `/${name} (${literal(value)})`);
  objects.push({ dictionary: `<< ${entries.join(' ')} >>` });
  return pdfOf(objects, `/Info ${objects.length} 0 R`);
}

function literal(text: string): string {
  return text.replace(/[\\()]/g, (mark) => `\\${mark}`);
}
