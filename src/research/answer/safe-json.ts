import { parseJson } from '../../base/json.ts';
import type { SourceRegistry } from '../run/sources.ts';
import { AnswerScanner } from './answer-scanner.ts';
import type { MayShow } from './safe-markup.ts';
import { spaced } from './shown-thoughts.ts';
import { urlIn } from './url-in-text.ts';

/** What has none of these has no link, image or tag in it. */
const MAY_HAVE_MARKS = /\][(:]|</;

/** `spaced` as in an answer of text; `blanked` keeps the length of every string, for schemas that bound it. */
export type Unmarked = 'spaced' | 'blanked';

/**
 * A JSON answer whose strings show no image, link or tag that a text may not show: clients put them into pages as
 * Markdown, too. A string is read as it is decoded, since escapes hide marks from no reader of the value; those without
 * such marks stay byte for byte. An address alone is no link, so values of `format: uri` stay.
 * @param text valid JSON.
 */
export function safeJson(
  text: string,
  { sources, mayShow, how }: { sources: SourceRegistry; mayShow: MayShow; how: Unmarked },
): string {
  return text.replace(/"(?:[^"\\]|\\.)*"/g, (literal) => {
    const value = parseJson(literal);
    if (typeof value !== 'string' || !MAY_HAVE_MARKS.test(value)) return literal;
    const scanner = new AnswerScanner((raw) => urlIn(raw, sources).length, mayShow);
    const parts = [...scanner.push(value), ...scanner.end()];
    if (!parts.some(({ type }) => type === 'mark')) return literal;
    const safe = parts.map(({ type, text: part }) => (type === 'mark' ? unmarked(part, how) : part));
    return JSON.stringify(safe.join(''));
  });
}

function unmarked(mark: string, how: Unmarked): string {
  return how === 'blanked' ? ' ' : spaced(mark);
}
