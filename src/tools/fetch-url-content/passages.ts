import { setImmediate } from 'node:timers/promises';
import { characterStart, collapseSpaces, naturalEnd } from '../../base/text.ts';

/** A passage of a document that matches a query or a goal. */
export interface DocumentPassage {
  /** In UTF-16 code units: the `offset` to read on from. */
  offset: number;
  text: string;
}

/** The best passages, and in how many places something was found. */
export interface FoundPassages {
  passages: DocumentPassage[];
  places: number;
}

/** A document is searched in windows of this length; a match may cross the end of its window by `CONTEXT`. */
const WINDOW = 2000;
const CONTEXT = 300;
const MAX_PASSAGES = 8;
const MAX_WORDS = 16;
/** Windows that are searched before the event loop takes other work: about a millisecond. */
const WINDOWS_PER_SLICE = 50;

/**
 * Finds passages of `text` around a query: where the whole phrase occurs, else where most of its words occur together.
 * Returns the best ones in the order of the document, earlier ones first among equals.
 */
export async function findPassages(text: string, query: string): Promise<FoundPassages> {
  const phrase = fold(query);
  const words = wordsOf(phrase);
  const hits: { at: number; end: number; score: number }[] = [];
  for await (const { offset, window } of windowsOf(text)) {
    const hit = bestHit(window, { phrase, words });
    if (hit) hits.push({ at: offset + hit.at, end: offset + hit.end, score: hit.score });
  }
  const best = Math.max(0, ...hits.map(({ score }) => score));
  // A place with a single word of a longer query is no answer if other places have more of it.
  const good = hits.filter(({ score }) => score >= best / 2);
  const chosen = [...good].sort((a, b) => b.score - a.score).slice(0, MAX_PASSAGES);
  const passages: DocumentPassage[] = [];
  let end = 0;
  for (const hit of chosen.sort((a, b) => a.at - b.at)) {
    const start = Math.max(end, wordStart(text, hit.at - CONTEXT));
    const limit = Math.max(hit.end, hit.at) + CONTEXT;
    end = naturalEnd(text, { from: limit - 40, limit, marks: ['\n', ' '] });
    if (start < end) passages.push({ offset: start, text: text.slice(start, end).trim() });
  }
  return { passages, places: good.length };
}

/** How many passages are hinted at, each with an excerpt of `EXCERPT_LENGTH` UTF-16 code units. */
const MAX_HINTS = 3;
const EXCERPT_LENGTH = 240;
const MAX_TERMS = 24;

/**
 * The windows of `text`, outside of what was shown, that hold most of the goal's words, rare ones counting more, in
 * the order of the document: hints where to read on. Empty if no window has at least two of the words.
 */
export async function relevantPassages(
  text: string,
  goal: string,
  shown: { from: number; to: number },
): Promise<DocumentPassage[]> {
  const terms = termsOf(goal);
  if (terms.length === 0) return [];
  const windows: { offset: number; found: string[] }[] = [];
  const counts = new Map<string, number>();
  for await (const { offset, window } of windowsOf(text)) {
    const found = terms.filter((term) => window.includes(term));
    for (const term of found) counts.set(term, (counts.get(term) ?? 0) + 1);
    windows.push({ offset, found });
  }
  const weight = (term: string) => Math.log(1 + windows.length / (counts.get(term) ?? 1));
  return windows
    .filter(
      ({ offset, found }) => found.length >= Math.min(2, terms.length) && (offset < shown.from || offset >= shown.to),
    )
    .map(({ offset, found }) => ({ offset, score: found.reduce((sum, term) => sum + weight(term), 0) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_HINTS)
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset }) => ({ offset, text: excerpt(text, terms, offset) }));
}

/** The windows of a document, folded. A long document regularly yields to the event loop. */
async function* windowsOf(text: string): AsyncGenerator<{ offset: number; window: string }> {
  for (let offset = 0, count = 1; offset < text.length; offset += WINDOW, count++) {
    if (count % WINDOWS_PER_SLICE === 0) await setImmediate();
    yield { offset, window: windowAt(text, offset) };
  }
}

function windowAt(text: string, offset: number): string {
  return fold(text.slice(offset, offset + WINDOW + CONTEXT));
}

/** Converts to lower case without changing lengths, so that offsets stay valid: only `İ` would become longer. */
function fold(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase().replace(/\s/g, ' ');
}

function wordsOf(phrase: string): string[] {
  const words = phrase.match(/[\p{L}\p{N}\p{M}_]+/gu) ?? [];
  const long = words.filter((word) => word.length > 2 || /[^\p{ASCII}]|\d/u.test(word));
  return [...new Set(long.length > 0 ? long : words)].slice(0, MAX_WORDS);
}

function bestHit(window: string, query: { phrase: string; words: readonly string[] }) {
  const phrase = query.phrase.trim();
  const at = phrase === '' ? -1 : window.indexOf(phrase);
  if (at >= 0 && at < WINDOW) return { at, end: at + phrase.length, score: 1000 };
  const places = query.words.map((word) => window.indexOf(word)).filter((place) => place >= 0 && place < WINDOW);
  if (places.length === 0) return undefined;
  const first = Math.min(...places);
  const last = Math.max(...places);
  const near = last - first < CONTEXT ? 1 : 0;
  return { at: first, end: last - first < 2 * CONTEXT ? last : first, score: places.length * 10 + near };
}

/** The start of the next word after `at`, if one is near. */
function wordStart(text: string, at: number): number {
  if (at <= 0) return 0;
  const space = text.slice(at, at + 40).search(/\s/);
  return space >= 0 ? at + space + 1 : characterStart(text, at);
}

/** Words of four letters or more, and pairs of characters in scripts without spaces. */
function termsOf(goal: string): string[] {
  const words = fold(goal).match(/[\p{L}\p{N}]{4,}/gu) ?? [];
  const terms = words.flatMap((word) => {
    const isUnspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word);
    return isUnspaced ? [...word].slice(1).map((character, at) => [...word][at] + character) : [word];
  });
  return [...new Set(terms)].slice(0, MAX_TERMS);
}

function excerpt(text: string, terms: readonly string[], offset: number): string {
  const window = windowAt(text, offset);
  const places = terms.map((term) => window.indexOf(term)).filter((at) => at >= 0);
  const start = offset + Math.max(0, Math.min(...places) - 40);
  const words = collapseSpaces(text.slice(start, start + EXCERPT_LENGTH));
  return words.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '').trim();
}
