import { drainSteps, yieldToEventLoop } from '../../base/load/event-loop.ts';
import { collapseSpaces, naturalEnd, toSingleLine } from '../../base/text.ts';
import { NO_STOP } from './abbreviations.ts';
import { endsOf } from './prose.ts';

/** Finds what matters in a text, without a model. */

/** Of longer texts only the start and the end are read, in UTF-16 code units: the question is there. */
const MAX_READ = 40_000;

/** The content words of a text, in lower case and singular. CJK text gives pairs of characters. */
export function keywords(text: string): Set<string> {
  const words = new Set<string>();
  for (const word of endsOf(text, MAX_READ)
    .toLowerCase()
    .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []) {
    if (CJK.test(word)) for (let i = 0; i + 1 < word.length; i++) words.add(word.slice(i, i + 2));
    else if (word.length > 2 && !STOP_WORDS.has(word)) words.add(singular(word));
  }
  return words;
}

/** A word without the ending of English plurals: enough for `codes` in a question to find `code` in a page. */
export function singular(word: string): string {
  if (word.length < 4 || !word.endsWith('s') || word.endsWith('ss')) return word;
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}

/** A text split into sentences that are ranked by relevance to the question. */
export interface RankedText {
  /** The text with its spaces joined. */
  plain: string;
  sentences: string[];
  /** The indexes of relevant sentences, the most relevant first. */
  ranking: number[];
  about: ReadonlySet<string>;
}

/** Ranks the sentences of a text, so that facts of any length can be picked from it. */
export function rankText(text: string, about: ReadonlySet<string>): RankedText {
  return drainSteps(ranking(text, about));
}

/** How much of a text is ranked in one step, in UTF-16 code units: about two milliseconds. */
const STEP = 12_000;

/** `rankText` with pauses for the event loop, for long pages. */
export async function rankTextInSteps(text: string, about: ReadonlySet<string>): Promise<RankedText> {
  const steps = ranking(text, about);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await yieldToEventLoop();
  }
}

function* ranking(text: string, about: ReadonlySet<string>): Generator<undefined, RankedText> {
  const sentences: string[] = [];
  const scores: number[] = [];
  const plain: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = naturalEnd(text, { from: at + STEP * 0.75, limit: at + STEP, marks: ['\n', ' '] });
    const piece = text.slice(at, end);
    for (const sentence of splitSentences(piece)) {
      scores.push(score(sentence, about) / (1 + sentences.length / 2000));
      sentences.push(sentence);
    }
    plain.push(toSingleLine(piece));
    at = end;
    if (at < text.length) yield;
  }
  const relevant = [...scores.keys()].filter((index) => (scores[index] ?? 0) > 0);
  const ranked = relevant.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
  return { plain: plain.filter((piece) => piece !== '').join(' '), sentences, ranking: ranked, about };
}

/** The best sentences in their order, within `maxLength` UTF-16 code units. */
export function pickFacts({ plain, sentences, ranking, about }: RankedText, maxLength: number): string {
  if (plain.length <= maxLength) return plain;
  const chosen: number[] = [];
  let left = maxLength;
  for (const index of ranking) {
    const { length } = sentences[index] ?? '';
    if (length + 1 > left) {
      // Only the best sentence is worth cutting.
      if (chosen.length === 0) break;
      continue;
    }
    chosen.push(index);
    left -= length + 1;
    if (left < 20) break;
  }
  if (chosen.length === 0)
    return mostTellingPart(sentences[ranking[0] ?? -1] ?? plain.slice(0, maxLength * 2), { about, maxLength });
  return chosen
    .sort((a, b) => a - b)
    .map((index) => sentences[index])
    .join(' ');
}

/**
 * The sentences of `text` that tell most about `about`, in their order, `maxLength` UTF-16 code units at most.
 * Sentences with numbers and names count more: they are the facts that cannot be guessed again.
 */
export function keyFacts(text: string, options: { about: ReadonlySet<string>; maxLength: number }): string {
  return pickFacts(rankText(text, options.about), options.maxLength);
}

/** Longer ones are cut at a space: a table or a list without full stops is no single sentence. */
const MAX_SENTENCE = 320;
/** Where a sentence ends: full stops of Latin scripts only before a space, so that 3.5 stays whole. */
const SENTENCE_END = new RegExp(
  `(?<=[.!?…][)"'”’]?)${NO_STOP}\\s+(?=[\\p{Lu}\\p{Lo}\\p{N}"'“([#*-])|(?<=[。！？])|\\s\\|\\s`,
  'u',
);
/** A row of a table, whose cells say nothing alone. */
const IS_ROW = /^\s*\|/;

/** The sentences of a text, each on one line and none longer than `MAX_SENTENCE`. */
export function splitSentences(text: string): string[] {
  const sentences: string[] = [];
  for (const line of text.split('\n')) {
    for (const sentence of IS_ROW.test(line) ? [collapseSpaces(line)] : collapseSpaces(line).split(SENTENCE_END)) {
      let rest = sentence.trim();
      while (rest.length > MAX_SENTENCE) {
        const space = rest.lastIndexOf(' ', MAX_SENTENCE);
        const end = space > MAX_SENTENCE / 2 ? space : MAX_SENTENCE;
        sentences.push(rest.slice(0, end));
        rest = rest.slice(end).trim();
      }
      if (rest !== '') sentences.push(rest);
    }
  }
  return sentences;
}

function score(sentence: string, about: ReadonlySet<string>): number {
  const density = Math.sqrt(Math.max(1, sentence.length / 80));
  return relevanceOf(sentence, about) / density;
}

/** How relevant a sentence is: by keywords of the question, numbers and names. */
export function relevanceOf(text: string, about: ReadonlySet<string>): number {
  let hits = 0;
  for (const word of keywords(text)) if (about.has(word)) hits++;
  const numbers = text.match(/\p{N}[\p{N}.,:%-]*/gu)?.length ?? 0;
  const names = text.match(/(?<!^)(?<![.!?] )\b\p{Lu}[\p{L}\p{N}-]+/gu)?.length ?? 0;
  return hits * 3 + Math.min(numbers, 4) * 1.5 + Math.min(names, 4);
}

/** The share of a line that a title may take, and its limit in UTF-16 code units. */
const TITLE_SHARE = 0.3;
const MAX_TITLE = 80;

/** A title on one line, cut to its share of a line of this length. */
export function shortTitle(title: string, length: number): string {
  const max = Math.max(8, Math.floor(Math.min(MAX_TITLE, length * TITLE_SHARE)));
  const plain = toSingleLine(title);
  return plain.length <= max ? plain : `${plain.slice(0, max - 1)}…`;
}

/** The most relevant part of a sentence, with an ellipsis where it was cut. */
export function mostTellingPart(sentence: string, options: { about?: ReadonlySet<string>; maxLength: number }): string {
  const { maxLength, about = new Set() } = options;
  const length = Math.max(1, maxLength - 2);
  let best = { from: 0, weight: -1 };
  for (let from = 0; ; from = nextWord(sentence, from + Math.ceil(length / 4))) {
    const weight = relevanceOf(sentence.slice(from, from + length), about);
    if (weight > best.weight) best = { from, weight };
    if (from + length >= sentence.length) break;
  }
  const passage = sentence.slice(best.from, best.from + length).trim();
  const cutBefore = best.from > 0 ? '…' : '';
  const cutAfter = best.from + length < sentence.length ? '…' : '';
  return (cutBefore + passage + cutAfter).slice(0, maxLength);
}

/** The start of the next word from `at` on, or `at` if no space is near, as in scripts without spaces. */
function nextWord(text: string, at: number): number {
  const space = text.indexOf(' ', at);
  return space === -1 || space > at + 30 ? at : space + 1;
}

const CJK = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/;

const STOP_WORDS = new Set(
  (
    'the and for that with this from are was were has have had not but its you your can may will would should could ' +
    'into than then them they their there here what which who whom whose when where why how does did been being about ' +
    'also each such only over under more most some any all one two per via der die das und ist ein eine mit von den ' +
    'les des une est que pour dans los las una con por del para'
  ).split(' '),
);
