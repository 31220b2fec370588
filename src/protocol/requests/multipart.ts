import type { Span } from './json-spans.ts';

/** A text field of a form, with the span of its value. */
export interface FormField extends Span {
  value: string;
}

const HEADER_END = Buffer.from('\r\n\r\n');
/** No client writes longer headers of a part, in bytes. */
const MAX_PART_HEADER = 8192;

/** No client writes a form with more parts. */
const MAX_PARTS = 1000;

/** The boundary in a `multipart/form-data` content type. */
export function boundaryOf(contentType: string): string | undefined {
  const match = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  return match?.[1] ?? match?.[2];
}

/**
 * Finds the text fields called `name`, but not files, in a `multipart/form-data` body (RFC 7578), in order. Returns none
 * for a form of more than 1000 parts.
 */
export function formFields(body: Buffer, boundary: string, name: string): FormField[] {
  const fields: FormField[] = [];
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first delimiter need not follow a line break.
  let part = body.indexOf(delimiter.subarray(2));
  if (part === -1) return fields;
  part += delimiter.length - 2;
  for (let parts = 0; parts < MAX_PARTS; parts++) {
    const headerEnd = body.indexOf(HEADER_END, part);
    if (headerEnd === -1 || headerEnd - part > MAX_PART_HEADER) return fields;
    const start = headerEnd + HEADER_END.length;
    const found = body.indexOf(delimiter, start - 2);
    if (found === -1) return fields;
    // The line break before an empty value is part of the header's end.
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
