import { type EvidenceRecord, mostRelevant } from '../run/evidence.ts';
import { keywords, relevanceOf, splitSentences } from '../text/key-facts.ts';

/** Finds evidence in what the model says and thinks: its notes are facts that no digest would find again. */

/** How much is retained of one turn, and how much of the end of a text is read, in UTF-16 code units. */
const MAX_LENGTH = 2000;
const MAX_READ = 24_000;

/** The message of a turn, and its reasoning. */
export interface ModelOutput {
  text: string;
  reasoning: string;
}

/** The notes of a turn, those of its message before those of its reasoning, without duplicates. */
export function notesIn(
  { text, reasoning }: ModelOutput,
  options: { turn: number; about: ReadonlySet<string> },
): EvidenceRecord[] {
  const { turn, about } = options;
  const seen = new Set<string>();
  const notes = [text, reasoning].flatMap((said) =>
    splitSentences(said.slice(-MAX_READ)).flatMap((sentence): EvidenceRecord[] => {
      const note = sentence.replace(BULLET, '').replace(LABEL, '').trim();
      const key = note.toLowerCase();
      if (!isNote(note) || seen.has(key)) return [];
      seen.add(key);
      return [{ turn, by: 'model', source: sourceIn(note), quote: '', at: null, note, weight: weightOf(note, about) }];
    }),
  );
  return mostRelevant(notes, MAX_LENGTH);
}

const BULLET = /^(?:[-*•+]|#{1,6}|\d{1,2}[.)])\s+/;
const LABEL = /^\W{0,2}(?:noted?|key facts?|facts?|findings?)\W{0,2}:\W{0,3}(?=[\p{L}\p{N}])/iu;
/** A citation, such as `[3]` or `[source_id: 3]`. */
const CITED = /[[【［](?:source(?:_id|s)?[ :#]*)?(\d{1,4})(?:[,;†–-][^\]】］]{0,40})?[\]】］]/i;
/** Sentences about the work and not about the question: plans, and remarks that all is well. */
const PLAN =
  /^(?:(?:ok(?:ay)?|so|now|next|first|then|hmm|well|good|great|alright|and|but)[,.:]?\s+)*(?:I(?:'ll|’ll|'m|’m|'d|’d| )|we(?:'ll|’ll| (?:will|should|need|can|could|have to))|let(?:'s|’s| me| us)\b)/i;
/** More such sentences, provided they have no number. */
const DOING = /^(?:looking|searching|reading|checking|trying|going|time to)\b\P{N}*$/iu;
/** Sentences that start like a plan but say what was found. */
const FOUND =
  /^\W*(?:\w+[,.:]?\s+){0,2}?(?:I|we)(?:'ve|’ve| have)?(?: now| also)? (?:found|learn(?:ed|t)|note[ds]?\b|know|see that|read that|saw|conclude|confirmed|remember|keep in mind)/i;
/** Shorter sentences say nothing, in UTF-16 code units. */
const MIN_LENGTH = 12;

function isNote(sentence: string): boolean {
  if (sentence.length < MIN_LENGTH || !/[\p{L}\p{N}]/u.test(sentence)) return false;
  if (CITED.test(sentence)) return true;
  if (/[?？]$/.test(sentence)) return false;
  return FOUND.test(sentence) || !(PLAN.test(sentence) || DOING.test(sentence));
}

function weightOf(note: string, about: ReadonlySet<string>): number {
  const codes = note.match(/\b(?=[\p{L}\p{N}-]*\p{N})(?=[\p{L}\p{N}-]*\p{L})[\p{L}\p{N}-]+/gu)?.length ?? 0;
  return relevanceOf(note, about) + (CITED.test(note) ? 6 : 0) + Math.min(codes, 3) * 2;
}

function sourceIn(note: string): number | null {
  const number = CITED.exec(note)?.[1];
  return number === undefined ? null : Number(number);
}

/** The words and figures that identify a fact, without the numbers of sources. */
export function factWords(text: string): { words: Set<string>; figures: string[] } {
  const plain = text.replaceAll(MARKERS, ' ');
  const words = new Set([...keywords(plain)].filter((word) => !/\p{N}/u.test(word)));
  const figures = plain.match(/\p{N}[\p{N}.,]*(?<=\p{N})/gu) ?? [];
  return { words, figures: figures.map((figure) => figure.replaceAll(THOUSANDS, '')) };
}

/** Thousands separators: 1,200 is 1200. */
const THOUSANDS = /,(?=\p{N}{3}(?:\D|$))/gu;
const MARKERS = new RegExp(CITED, 'gi');
