import { CodeBlocks } from '../answer/code-marks.ts';
import { NO_STOP } from '../text/abbreviations.ts';
import { CJK } from './text/fold.ts';

/** Splits an answer into sentences, and finds the claim that a marker belongs to. */

/** A sentence of an answer, as a range, with the markers in it and directly after it. */
export interface AnswerSentence {
  start: number;
  end: number;
}

const MARKER = '[[【［][\\d\\s,;–?-]+[\\]】］]';
/** A full stop of a Latin script before a space, or one of another script. Markers after it belong to the sentence. */
const END = new RegExp(
  `(?:[.!?…]${NO_STOP}["'”’»)*_]*(?:\\s?${MARKER})*(?=\\s|$)|[。！？।॥؟۔።։][」』”）]*(?:\\s?${MARKER})*)(?:[^\\S\\n]*${MARKER})*\\s*|\\n+`,
  'gu',
);

/** The sentences of a text. List items and table rows are sentences of their own; code and headings are not. */
export function* sentencesOf(text: string): Generator<AnswerSentence> {
  let from = 0;
  let lineEnd = -1;
  let isCode = false;
  const blocks = new CodeBlocks();
  const sentenceIn = function* (start: number, end: number): Generator<AnswerSentence> {
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
    yield* sentenceIn(from, end);
    from = end;
  }
  yield* sentenceIn(from, text.length);
}
/** A heading, a separator, a line that is all bold. */
const NO_SENTENCE = /^(?:#{1,6}\s.*|[-*_=|:\s]+|\*\*[^*]+\*\*:?)$/;

/** How much of a text may belong to one claim, in UTF-16 code units. */
export const LONGEST_CLAIM = 1200;

/**
 * The claim of a marker at the end of a text: its sentence since the marker before, or the whole sentence if that part is
 * too short to be a statement. '' if there is none.
 */
export function claimBefore(text: string): string {
  const tail = withoutLastMarkers(text.slice(-LONGEST_CLAIM));
  let last: AnswerSentence | undefined;
  for (const sentence of sentencesOf(tail)) last = sentence;
  if (!last || tail.slice(last.end).trim() !== '') return '';
  const sentence = tail.slice(last.start, last.end);
  const parts = sentence.split(new RegExp(MARKER, 'u'));
  const own = parts.at(-1) ?? '';
  const hasOwn = parts.length > 1 && isStatement(own);
  return plainText(itemOf(parts) ?? (hasOwn ? own : parts.join(' ')));
}

/** What a sentence says of the last item of a list with a marker for each: `They met in Graz` in `They met in Rome [1], Graz [2]`. */
function itemOf(parts: readonly string[]): string | undefined {
  const [lead = '', ...items] = parts;
  const item = NEXT_ITEM.exec(items.at(-1) ?? '')?.[1];
  const start = lead.replace(LAST_NAME, '');
  const isList = item !== undefined && items.every((each) => NEXT_ITEM.test(each)) && start !== lead;
  return isList && /\p{L}/u.test(start) ? `${start}${item}` : undefined;
}
const NAME = "\\p{Lu}[\\p{L}\\p{M}\\d.'’&-]*(?: (?:\\p{Lu}[\\p{L}\\p{M}\\d.'’&-]*|\\d+)){0,3}";
const LAST_NAME = new RegExp(`(?<=\\s)${NAME}\\s*$`, 'u');
const NEXT_ITEM = new RegExp(`^\\s*(?:,|,?\\s(?:and|und|et|y|e|or|oder|ou|o))\\s+(${NAME})(?:\\s*\\.)?\\s*$`, 'u');
const LAST_MARKER = new RegExp(`${MARKER}$`, 'u');
function withoutLastMarkers(text: string): string {
  const end = text.trimEnd();
  const marker = LAST_MARKER.exec(end);
  return marker ? withoutLastMarkers(end.slice(0, marker.index)) : text;
}

/** The markers of a text, each once, concatenated. */
export function markersIn(text: string): string {
  return [...new Set(text.match(new RegExp(MARKER, 'gu')))].join('');
}

/** Whether a part of a sentence, or a quote, has enough words to state something of its own. */
export function isStatement(text: string): boolean {
  const isCjk = CJK.test(text);
  const parts = text.match(isCjk ? /[\p{L}\p{N}]/gu : /[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return parts.length >= (isCjk ? MIN_SIGNS : MIN_WORDS);
}
const MIN_WORDS = 3;
const MIN_SIGNS = 6;

/** The bullet or number of a list item. */
export const LIST_MARK = /^\s*(?:[-*+•]|\d{1,3}[.)])\s+/;

/** A sentence without Markdown. */
export function plainText(text: string): string {
  return text
    .replace(LIST_MARK, '')
    .replace(/\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replace(/[*_`]+/g, ' ')
    .replace(/^[\s,;:|，、；–-]+|(?<![\s|])[\s|]+$/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}
