import { setImmediate } from 'node:timers/promises';

/** A place in a long document that speaks of what was asked for. */
export interface RelevantPassage {
  /** In UTF-16 code units: the `offset` to read on from. */
  offset: number;
  text: string;
}

/** The document is looked at in windows of this length. */
const WINDOW = 1500;
const SHOWN = 240;
const MAX_PASSAGES = 3;
const MAX_TERMS = 24;
/** Windows looked at before others get their turn on the event loop: about a millisecond. */
const WINDOWS_AT_A_TIME = 50;

/**
 * The windows of `text` outside of what was shown that hold the most of the goal's words, rare ones counting more, in
 * the order of the document. A hint where to read on; nothing if no window has at least two of them.
 */
export async function relevantPassages(
  text: string,
  goal: string,
  shown: { from: number; to: number },
): Promise<RelevantPassage[]> {
  const terms = termsOf(goal);
  if (terms.length === 0) return [];
  const windows: { offset: number; found: string[] }[] = [];
  const counts = new Map<string, number>();
  for (let offset = 0; offset < text.length; offset += WINDOW) {
    if (windows.length % WINDOWS_AT_A_TIME === WINDOWS_AT_A_TIME - 1) await setImmediate();
    const window = text.slice(offset, offset + WINDOW).toLowerCase();
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
    .slice(0, MAX_PASSAGES)
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset }) => ({ offset, text: excerpt(text, terms, offset) }));
}

/** Words of four letters and more, and pairs of characters of scripts without spaces. */
function termsOf(goal: string): string[] {
  const words = goal.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [];
  const terms = words.flatMap((word) => {
    const isUnspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word);
    return isUnspaced ? [...word].slice(1).map((character, at) => [...word][at] + character) : [word];
  });
  return [...new Set(terms)].slice(0, MAX_TERMS);
}

function excerpt(text: string, terms: readonly string[], offset: number): string {
  const window = text.slice(offset, offset + WINDOW).toLowerCase();
  const places = terms.map((term) => window.indexOf(term)).filter((at) => at >= 0);
  const start = offset + Math.max(0, Math.min(...places) - 40);
  const words = text.slice(start, start + SHOWN).replace(/\s+/g, ' ');
  return words.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '').trim();
}
