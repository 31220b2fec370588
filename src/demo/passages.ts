import type { FoundDocument } from './conversation.ts';
import { keywordMatcher, segmentsOf, sentencesOf } from './words.ts';

/** A sentence worth quoting. */
export interface Passage {
  text: string;
  document: FoundDocument;
  score: number;
  /** How many of the question's key words it has. */
  matches: number;
  /** Its place in its document. */
  position: number;
}

/** Bounds the work on a huge page, in UTF-16 code units. */
const MAX_TEXT = 100_000;

/** The sentences of documents that have key words, best first; which come first does not depend on chance. */
export function rankPassages(documents: readonly FoundDocument[], keywords: readonly string[]): Passage[] {
  const matching = matcherOf(keywords);
  const candidates = documents.flatMap((document) =>
    sentencesOf(document.text.slice(0, MAX_TEXT)).map((text, position) => ({
      text,
      document,
      position,
      found: matching(text),
    })),
  );
  const rarity = new Map(
    keywords.map((keyword) => {
      const frequency = candidates.filter(({ found }) => found.has(keyword)).length;
      return [keyword, Math.log(1 + candidates.length / (1 + frequency))];
    }),
  );
  return candidates
    .filter(({ found }) => found.size > 0)
    .map(({ text, document, position, found }): Passage => {
      const weight = [...found].reduce((sum, keyword) => sum + (rarity.get(keyword) ?? 0), 0);
      const titled = matching(document.title).size * 0.3;
      const early = 0.4 / (1 + position / 5);
      const brevity = 1 / (0.7 + text.length / 400);
      const score = (weight + titled + early) * brevity * (document.read ? 1.2 : 1);
      return { text, document, score, matches: found.size, position };
    })
    .sort((a, b) => b.score - a.score || a.document.sourceId - b.document.sourceId || a.position - b.position);
}

/** The key words that a text has. */
function matcherOf(keywords: readonly string[]): (text: string) => Set<string> {
  const matchers = keywords.map((keyword) => ({ keyword, matches: keywordMatcher(keyword) }));
  return (text) => {
    const lower = text.toLowerCase();
    return new Set(matchers.filter(({ matches }) => matches(lower)).map(({ keyword }) => keyword));
  };
}

/** Passages that say much: most of the key words of the question in one sentence. */
export function strongPassages(passages: readonly Passage[], keywords: readonly string[]): Passage[] {
  return passages.filter((passage) => passage.matches >= Math.min(2, keywords.length));
}

/** The best passages, at most `limit`, without near repeats and without one document taking all. */
export function choosePassages(passages: readonly Passage[], limit: number): Passage[] {
  const chosen: Passage[] = [];
  const perDocument = Math.ceil(limit / 2);
  for (const passage of passages) {
    if (chosen.length === limit) break;
    if (chosen.filter(({ document }) => document === passage.document).length >= perDocument) continue;
    if (chosen.some((other) => similarity(other.text, passage.text) > 0.6)) continue;
    chosen.push(passage);
  }
  return chosen;
}

function similarity(a: string, b: string): number {
  const left = new Set(segmentsOf(a));
  const right = new Set(segmentsOf(b));
  const both = left.intersection(right).size;
  return both / (left.size + right.size - both || 1);
}
