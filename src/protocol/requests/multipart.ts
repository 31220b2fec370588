import type { Span } from './json-spans.ts';

/** A text field of a form and where its value stands. */
export interface FormField extends Span {
  value: string;
}

const HEADER_END = Buffer.from('\r\n\r\n');
/** A part's own header is short; a longer one is no form that a client wrote. */
const MAX_PART_HEADER = 8192;

/** A form with more parts is no form that a client wrote. */
const MAX_PARTS = 1000;

/** The boundary in a `multipart/form-data` content type. */
export function boundaryOf(contentType: string): string | undefined {
  const match = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  return match?.[1] ?? match?.[2];
}

/**
 * The text fields called `name` in a `multipart/form-data` body (RFC 7578), in order. Files are left out. None in a form
 * of more than 1000 parts.
 */
export function formFields(body: Buffer, boundary: string, name: string): FormField[] {
  const fields: FormField[] = [];
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first delimiter has no line break before it.
  let part = body.indexOf(delimiter.subarray(2));
  if (part === -1) return fields;
  part += delimiter.length - 2;
  for (let parts = 0; parts < MAX_PARTS; parts++) {
    const headerEnd = body.indexOf(HEADER_END, part);
    if (headerEnd === -1 || headerEnd - part > MAX_PART_HEADER) return fields;
    const start = headerEnd + HEADER_END.length;
    const found = body.indexOf(delimiter, start - 2);
    if (found === -1) return fields;
    // An empty value shares its line break with the header.
    const end = Math.max(start, found);
    const header = body.toString('latin1', part, headerEnd);
    if (isField(header, name)) fields.push({ value: body.toString('utf8', start, end), start, end });
    part = found + delimiter.length;
  }
  return [];
}

function isField(header: string, name: string): boolean {
  const disposition = /^content-disposition:\s*form-data(;.*)$/im.exec(header)?.[1];
  if (disposition === undefined || /;\s*filename\*?=/i.test(disposition)) return false;
  return /;\s*name="?([^";]*)"?/i.exec(disposition)?.[1] === name;
}
