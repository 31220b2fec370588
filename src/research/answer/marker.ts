/**
 * Citation markers as models write them (docs/research.md, "Sources and citations"): `[1]`, `[1, 2]`, `[1-3]`, `[^1]`, `[^1^]`,
 * `[source_id: 1]`, `[citation:1]`, `【1†L3】`, `[١]`.
 */

/** A marker; `more` if the text may become one. */
export type FoundMarker = { end: number; numbers: number[] } | 'more' | undefined;

/** Lone numbers above are years and the like, not sources. */
const MAX_LIKELY = 999;
/** A range of more numbers is read as its two ends. */
const WIDEST_RANGE = 20;
/** A longer marker is text, in UTF-16 code units. */
const LONGEST = 200;

const OPENING = '[[【［][^\\S\\n]{0,2}';
const CLOSING = '[^\\S\\n]{0,2}[\\]】］]';
/** The zeros of scripts that write numbers in ten digits of their own, ascending. */
const ZEROS = [...'0٠۰०০੦૦୦௦౦೦൦๐໐၀០０'];
const DIGIT = `[${ZEROS.map((zero) => `${zero}-${String.fromCharCode(zero.charCodeAt(0) + 9)}`).join('')}]`;
const SEPARATOR = '[^\\S\\n]*[,;、，،–-][^\\S\\n]*';
const MARKER = new RegExp(
  `${OPENING}(?:(?:source(?:_id|s)?|cite|citation)[ :：#=]*|ref[ .:#]*|\\^)?(?<numbers>${DIGIT}{1,4}(?:${SEPARATOR}${DIGIT}{1,4})*)(?:†[^\\]】］\\n]{0,60}|\\^)?${CLOSING}`,
  'iy',
);
/** The start of a marker; `words` has to be the start of one of `WORDS`. */
const MARKER_START = new RegExp(
  `^${OPENING}(?:(?<words>[a-z_]{0,9})[ .:：#=]*|\\^)(?:${DIGIT}(?:${DIGIT}|[,;、，،–\\-\\t ])*)?(?:†[^\\]】］\\n]{0,60}|\\^)?$`,
  'i',
);
const WORDS = ['source_id', 'sources', 'ref', 'citation', 'cite'];

/**
 * The marker at `at`, the index of an opening bracket. What `(` follows is a Markdown link. `final`: no more text comes.
 */
export function markerAt(text: string, at: number, { final }: { final: boolean }): FoundMarker {
  MARKER.lastIndex = at;
  const match = MARKER.exec(text);
  if (!match) return final || !mayBecome(text.slice(at, at + LONGEST + 1)) ? undefined : 'more';
  const end = MARKER.lastIndex;
  if (end - at > LONGEST || text[end] === '(') return undefined;
  if (end === text.length && !final) return 'more';
  const numbers = numbersIn(match.groups?.numbers ?? '');
  return isCitation(numbers) ? { end, numbers } : undefined;
}

function mayBecome(rest: string): boolean {
  const start = rest.length > LONGEST ? null : MARKER_START.exec(rest);
  const words = start?.groups?.words?.toLowerCase() ?? '';
  return start !== null && WORDS.some((word) => word.startsWith(words));
}

/** Whether the numbers can be sources: a lone year is not, and `[0, 1]` is an interval, as no source has the number 0. */
function isCitation(numbers: readonly number[]): boolean {
  if (numbers.length > 1 && numbers.includes(0)) return false;
  return numbers.some((number) => number <= MAX_LIKELY);
}

function digitValue(digit: string): string {
  const zero = ZEROS.findLast((each) => each <= digit) ?? '0';
  return String(digit.charCodeAt(0) - zero.charCodeAt(0));
}

function numbersIn(marker: string): number[] {
  const digits = marker.replace(/[^0-9,;、，،–\-\s]/g, digitValue);
  const numbers = digits.split(/[,;、，،]/).flatMap((part) => {
    const [first = 0, ...others] = part.split(/[–-]/).map(Number);
    const last = others.at(-1) ?? first;
    if (others.length > 1) return [first, ...others];
    if (last < first || last - first > WIDEST_RANGE) return [first, last];
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
  return [...new Set(numbers)];
}
