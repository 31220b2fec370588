import { withoutTrailing } from '../../base/text.ts';
import type { Report } from '../../runs/projections/report.ts';
import { dateOf } from './markdown.ts';

/** The longest name without date and extension, in characters. */
const MAX_NAME = 60;

/**
 * The value of `Content-Disposition`: a name from the title's words and the date. Older clients use the ASCII name, others
 * the one in the title's own script (RFC 6266).
 */
export function disposition(report: Report, extension: string): string {
  const words =
    report.title
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const name = withoutTrailing([...words.join('-')].slice(0, MAX_NAME).join(''), '-') || 'report';
  const ascii = name
    .normalize('NFKD')
    .replace(/[^a-z0-9-]/g, '')
    .replace(/-+/g, '-')
    .replace(/^-|-$/g, '');
  const tail = `-${dateOf(report.endedAt)}.${extension}`;
  const asciiOnly = `attachment; filename="${ascii === '' ? 'report' : ascii}${tail}"`;
  return ascii === name ? asciiOnly : `${asciiOnly}; filename*=UTF-8''${encodeURIComponent(name)}${tail}`;
}
