import { setImmediate } from 'node:timers/promises';

/** A place in a document that has what was looked for. */
export interface FoundPassage {
  /** In UTF-16 code units: the `offset` to read on from. */
  offset: number;
  text: string;
}

/** What was found, and in how many places there was something. */
export interface FoundPassages {
  passages: FoundPassage[];
  places: number;
}

/** The document is looked at in windows of this length; what is looked for may cross their ends by as much as a passage. */
const WINDOW = 2000;
const CONTEXT = 300;
const MAX_PASSAGES = 8;
const MAX_WORDS = 16;
/** Windows looked at before others get their turn on the event loop: about a millisecond. */
const WINDOWS_AT_A_TIME = 50;

/**
 * Passages of `text` around what is looked for: the whole phrase where it stands, else as many of its words as stand
 * together. The best first places are taken, shown in the order of the document.
 */
export async function findPassages(text: string, query: string): Promise<FoundPassages> {
  const phrase = fold(query);
  const words = wordsOf(phrase);
  const hits: { at: number; end: number; score: number }[] = [];
  for (let offset = 0, count = 1; offset < text.length; offset += WINDOW, count++) {
    if (count % WINDOWS_AT_A_TIME === 0) await setImmediate();
    const hit = bestHit(fold(text.slice(offset, offset + WINDOW + CONTEXT)), { phrase, words });
    if (hit) hits.push({ at: offset + hit.at, end: offset + hit.end, score: hit.score });
  }
  const most = Math.max(0, ...hits.map(({ score }) => score));
  // Single words of a longer query are no answer where others have more of it.
  const good = hits.filter(({ score }) => score >= most / 2);
  const chosen = [...good].sort((a, b) => b.score - a.score).slice(0, MAX_PASSAGES);
  const passages: FoundPassage[] = [];
  let end = 0;
  for (const hit of chosen.sort((a, b) => a.at - b.at)) {
    const start = Math.max(end, wordStart(text, hit.at - CONTEXT));
    end = wordEnd(text, Math.max(hit.end, hit.at) + CONTEXT);
    if (start < end) passages.push({ offset: start, text: text.slice(start, end).trim() });
  }
  return { passages, places: good.length };
}

/** Lower case without changing lengths, so that places stay what they are. */
function fold(text: string): string {
  const lower = text.toLowerCase();
  return (lower.length === text.length ? lower : text).replace(/[\s\u00a0]/g, ' ');
}

function wordsOf(phrase: string): string[] {
  const words = phrase.match(/[\p{L}\p{N}\p{M}_]+/gu) ?? [];
  const long = words.filter((word) => word.length > 2 || /[^\p{ASCII}]|\d/u.test(word));
  return [...new Set(long.length > 0 ? long : words)].slice(0, MAX_WORDS);
}

function bestHit(window: string, sought: { phrase: string; words: readonly string[] }) {
  const phrase = sought.phrase.trim();
  const at = phrase === '' ? -1 : window.indexOf(phrase);
  if (at >= 0 && at < WINDOW) return { at, end: at + phrase.length, score: 1000 };
  const places = sought.words.map((word) => window.indexOf(word)).filter((place) => place >= 0 && place < WINDOW);
  if (places.length === 0) return undefined;
  const first = Math.min(...places);
  const last = Math.max(...places);
  const near = last - first < CONTEXT ? 1 : 0;
  return { at: first, end: last - first < 2 * CONTEXT ? last : first, score: places.length * 10 + near };
}

/** The start of the word at `at`, if one is near. */
function wordStart(text: string, at: number): number {
  if (at <= 0) return 0;
  const space = text.slice(at, at + 40).search(/\s/);
  return space >= 0 ? at + space + 1 : at;
}

function wordEnd(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const before = text.slice(at - 40, at);
  const space = Math.max(before.lastIndexOf(' '), before.lastIndexOf('\n'));
  return space >= 0 ? at - 40 + space : at;
}
