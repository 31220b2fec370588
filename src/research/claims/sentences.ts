import { CodeBlocks } from '../answer/code-marks.ts';
import { NO_STOP } from './text/abbreviations.ts';

/** The sentences of an answer, and which of them a marker belongs to. */

/** A sentence of an answer with the markers that stand in it or directly behind it; a range of the answer. */
export interface AnswerSentence {
  start: number;
  end: number;
}

const MARKER = '[[【［][\\d\\s,;–?-]+[\\]】］]';
/** A full stop of Latin scripts before a space, or of others; markers behind it are of the sentence before. */
const END = new RegExp(
  `(?:[.!?…]${NO_STOP}["'”’»)*_]*(?:\\s?${MARKER})*(?=\\s|$)|[。！？।॥؟۔።։][」』”）]*(?:\\s?${MARKER})*)(?:[^\\S\\n]*${MARKER})*\\s*|\\n+`,
  'gu',
);

/** The sentences of a text; lines of lists and rows of tables are sentences of their own, code and headings are none. */
export function* sentencesOf(text: string): Generator<AnswerSentence> {
  let from = 0;
  let lineEnd = -1;
  let isCode = false;
  const blocks = new CodeBlocks();
  const whole = function* (start: number, end: number): Generator<AnswerSentence> {
    const sentence = text.slice(start, end).trim();
    if (sentence === '') return;
    if (start > lineEnd) {
      const next = text.indexOf('\n', start + text.slice(start, end).search(/\S/));
      lineEnd = next === -1 ? text.length : next;
      isCode = blocks.isCode(text.slice(text.lastIndexOf('\n', lineEnd - 1) + 1, lineEnd));
    }
    if (!isCode && !NO_SENTENCE.test(sentence)) yield { start, end };
  };
  for (const { 0: gap, index } of text.matchAll(END)) {
    const end = index + gap.length;
    yield* whole(from, end);
    from = end;
  }
  yield* whole(from, text.length);
}
/** A heading, a line that parts things, a line in bold alone. */
const NO_SENTENCE = /^(?:#{1,6}\s.*|[-*_=|:\s]+|\*\*[^*]+\*\*:?)$/;

/** The most of a text that is looked at for one claim, in UTF-16 code units. */
export const LONGEST_CLAIM = 1200;

/**
 * The claim that a marker at the end of a text stands for: what its sentence says since the marker before, or all of the
 * sentence where that is no statement of its own. '' where there is none.
 */
export function claimBefore(text: string): string {
  const tail = withoutLastMarkers(text.slice(-LONGEST_CLAIM));
  let last: AnswerSentence | undefined;
  for (const sentence of sentencesOf(tail)) last = sentence;
  if (!last || tail.slice(last.end).trim() !== '') return '';
  const sentence = tail.slice(last.start, last.end);
  const parts = sentence.split(new RegExp(MARKER, 'u'));
  const own = parts.at(-1) ?? '';
  const hasOwn = parts.length > 1 && (own.match(/[\p{L}\p{N}]+/gu)?.length ?? 0) >= MIN_WORDS;
  return plainText(hasOwn ? own : parts.join(' '));
}
const LAST_MARKER = new RegExp(`${MARKER}$`, 'u');
function withoutLastMarkers(text: string): string {
  const end = text.trimEnd();
  const marker = LAST_MARKER.exec(end);
  return marker ? withoutLastMarkers(end.slice(0, marker.index)) : text;
}

/** All markers of a text, one behind the other. */
export function markersIn(text: string): string {
  return (text.match(new RegExp(MARKER, 'gu')) ?? []).join('');
}

/** Words that make a part of a sentence a statement of its own. */
const MIN_WORDS = 3;

/** What a line of a list begins with. */
export const LIST_MARK = /^\s*(?:[-*+•]|\d{1,3}[.)])\s+/;

/** A sentence without the marks of Markdown. */
export function plainText(text: string): string {
  return text
    .replace(LIST_MARK, '')
    .replace(/\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replace(/[*_`]+/g, ' ')
    .replace(/^[\s,;:|，、；–-]+|[\s|]+$/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}
