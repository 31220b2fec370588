import { withoutTrailing } from '../../base/text.ts';
import type { Report } from '../../runs/projections/report.ts';
import { dateOf } from './markdown.ts';

/** The longest name without date and ending, in characters. */
const LENGTH = 60;

/**
 * The value of `Content-Disposition`: a name made of the title's words and the date. Older clients read the one in
 * ASCII, others the one in the title's own script (RFC 6266).
 */
export function disposition(report: Report, ending: string): string {
  const words =
    report.title
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const own = withoutTrailing([...words.join('-')].slice(0, LENGTH).join(''), '-') || 'report';
  const ascii = own
    .normalize('NFKD')
    .replace(/[^a-z0-9-]/g, '')
    .replace(/-+/g, '-')
    .replace(/^-|-$/g, '');
  const tail = `-${dateOf(report.endedAt)}.${ending}`;
  const plain = `attachment; filename="${ascii === '' ? 'report' : ascii}${tail}"`;
  return ascii === own ? plain : `${plain}; filename*=UTF-8''${encodeURIComponent(own)}${tail}`;
}
