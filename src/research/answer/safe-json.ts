import { parseJson } from '../../base/json.ts';
import type { SourceRegistry } from '../run/sources.ts';
import { urlIn } from '../text/url-in-text.ts';
import { AnswerScanner } from './answer-scanner.ts';
import type { MayShow } from './safe-markup.ts';
import { disarmMark } from './visible-reasoning.ts';

/** Strings without a match contain no link, image or tag. */
const MAY_HAVE_MARKS = /\][(:]|</;

/** `spaced`: as in a text answer. `blanked`: keeps the length of every string, for schemas that limit it. */
export type MarkReplacement = 'spaced' | 'blanked';

/**
 * Disarms forbidden images, links and tags in the strings of a JSON answer, because clients render those as Markdown,
 * too. Strings are decoded first, as JSON escapes would hide marks; a string without forbidden marks stays byte for
 * byte. A bare URL is no link, so values of `format: uri` stay.
 * @param text valid JSON.
 */
export function safeJson(
  text: string,
  { sources, mayShow, how }: { sources: SourceRegistry; mayShow: MayShow; how: MarkReplacement },
): string {
  return text.replace(/"(?:[^"\\]|\\.)*"/g, (literal) => {
    const value = parseJson(literal);
    if (typeof value !== 'string' || !MAY_HAVE_MARKS.test(value)) return literal;
    const scanner = new AnswerScanner((raw) => urlIn(raw, sources).length, mayShow);
    const parts = [...scanner.push(value), ...scanner.end()];
    const safe = parts.map(({ type, text: part }) => (type === 'mark' ? replaceMark(part, how) : part)).join('');
    return safe === value ? literal : JSON.stringify(safe);
  });
}

function replaceMark(mark: string, how: MarkReplacement): string {
  return how === 'blanked' ? ' ' : disarmMark(mark);
}
