import { likeness } from '../likeness.ts';
import type { Passage } from '../passages.ts';
import { CJK } from '../text/fold.ts';
import type { Sentence } from '../text/parse-sentence.ts';
import type { SourceText } from '../text/source-text.ts';
import { isOneOf, type Word } from '../text/words.ts';
import { CAUSE_BEFORE, CAUSE_BEHIND, SPEECH } from './lexicon.ts';

/**
 * Rules for who said something and why something happened. A claim is taken apart into the words of the speaker or cause
 * and the rest. The sentence of the source that says the rest must name the same speaker or cause.
 */

/** The words of a claim that name a speaker or a cause, and the rest of them. */
interface Role {
  named: readonly Word[];
  rest: readonly Word[];
}

/** Whether the source gives what a claim says as the words of somebody else. */
export function isSaidByAnother(claim: Sentence, passage: Passage, source: SourceText): boolean {
  const role = speakerOf(claim);
  // Words that the source does not have at all may be a synonym.
  if (!role || isIn(role, [source.parsedTitle]) || !role.named.some(({ text }) => source.says(text))) return false;
  const home = homeOf(role, claim, sentencesNear(passage, source));
  return home !== undefined && namesAny(SPEECH, home) && !isIn(role, [home]);
}

/** Whether the source gives another cause for what a claim says, or says nothing of the claim's. */
export function isCausedByAnother(claim: Sentence, passage: Passage, source: SourceText): boolean {
  const all = causeOf(claim);
  // What a page is about stands everywhere in it.
  const named = all?.named.filter((word) => !isWordOf(word, source.parsedTitle)) ?? [];
  if (!all || named.length === 0) return false;
  const role = { ...all, named };
  const near = sentencesNear(passage, source);
  const home = homeOf(role, claim, near);
  if (!home) return false;
  return !isIn(role, namesAny(CAUSE_BEHIND, home) || namesAny(CAUSE_BEFORE, home) ? [home] : near);
}

/** The sentences of a passage with those beside it. */
function sentencesNear({ first, last }: Passage, source: SourceText): Sentence[] {
  const [from, to] = [Math.max(0, first - 1), Math.min(source.sentences - 1, last + 1)];
  return Array.from({ length: to - from + 1 }, (_, at) => source.sentence(from + at));
}

/** The sentence that says the rest of a claim, if one has enough of its words. */
function homeOf({ rest }: Role, claim: Sentence, near: readonly Sentence[]): Sentence | undefined {
  const all = { ...claim, words: rest };
  const home = near.reduce((best, each) => (likeness(all, each) > likeness(all, best) ? each : best));
  const common = rest.filter((word) => isWordOf(word, home)).length;
  return common >= rest.length * MOST_OF_REST ? home : undefined;
}
const MOST_OF_REST = 0.5;

function isIn({ named }: Role, sentences: readonly Sentence[]): boolean {
  return sentences.some((sentence) => named.some((word) => isWordOf(word, sentence)));
}

/** Whether a sentence has a word, also as a part of another one: `Minister` is in `Arbeitsminister`. */
function isWordOf(word: Word, { words, folded }: Sentence): boolean {
  return isOneOf(word, words) || (word.text.length >= LONG && folded.includes(word.text.slice(0, -2)));
}
const LONG = 7;

/** Whether a sentence has one of these marks behind more than a pronoun. */
function namesAny(marks: typeof SPEECH, { folded, words }: Sentence): boolean {
  return marks.placesIn(folded).some(({ at }) => words.some(({ start }) => start < at));
}

/** The words before a verb of saying, up to the topic of a Japanese sentence, or directly after it: `…, said Ada Brand`. */
function speakerOf({ folded, words }: Sentence): Role | undefined {
  const [says] = SPEECH.placesIn(folded);
  if (!says) return undefined;
  const topic = CJK.test(folded) ? folded.search(/[はが]/) : -1;
  const before = words.filter((word) => word.end <= (topic === -1 ? says.at : topic));
  const after = words.filter((word) => word.start >= says.at + says.word.length).slice(0, AFTER);
  const named = before.length === 0 || INVERTED.test(folded.slice(0, says.at)) ? after : before;
  return named.length > MAX_SPEAKER ? undefined : roleOf(words, (word) => named.includes(word));
}
const INVERTED = /[,"“”»](?: h?a)? $/;
/** How many words may name a speaker: at most, and after the verb. */
const MAX_SPEAKER = 8;
const AFTER = 3;

/** The words behind `because` up to the next comma, or those before `led to`. */
function causeOf({ text, folded, words, language }: Sentence): Role | undefined {
  const [behind] = CAUSE_BEHIND.placesIn(folded);
  if (behind) {
    const start = behind.at + behind.word.length;
    const length = folded.slice(start).search(/[;,，；、。]|\.(?!\d)/);
    // `Wegen Nebels fiel der Flug aus`: without a comma only the first words.
    const isFirst = !words.some((word) => word.start < behind.at);
    const last = isFirst ? words.filter((word) => word.start >= start)[1] : words.at(-1);
    const end = length === -1 ? (last?.end ?? start) : start + length;
    // `Wegen eines Störfalls abgeschaltet`: in German the verb may stand behind the cause, which is a noun.
    const isCause = (word: Word) => language !== 'de' || /\p{Lu}/u.test(text[word.start] ?? '');
    const isBehind = (word: Word) => word.start >= start && word.start < end;
    return roleOf(words, (word) => isBehind(word) && isCause(word)) ?? roleOf(words, isBehind);
  }
  const [before] = CAUSE_BEFORE.placesIn(folded);
  if (!before) return undefined;
  const clause =
    folded
      .slice(0, before.at)
      .split(/[;,，；、は]/)
      .at(-1) ?? '';
  return roleOf(words, (word) => word.start >= before.at - clause.length && word.end <= before.at);
}

function roleOf(words: readonly Word[], isNamed: (word: Word) => boolean): Role | undefined {
  const role = { named: words.filter(isNamed), rest: words.filter((word) => !isNamed(word)) };
  return role.named.length > 0 && role.rest.length > 0 ? role : undefined;
}
