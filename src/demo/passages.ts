import type { FoundDocument } from './conversation.ts';
import { keywordMatcher, plainSentences } from './words.ts';

/** A sentence worth quoting. */
export interface DemoPassage {
  text: string;
  document: FoundDocument;
  score: number;
  /** How many of the question's keywords it has. */
  matches: number;
  /** Its place in its document. */
  position: number;
}

/** Only this much of a huge page is read, in UTF-16 code units. */
const MAX_TEXT = 100_000;

/** The sentences of documents that have keywords, best first. The order is deterministic. */
export function rankPassages(documents: readonly FoundDocument[], keywords: readonly string[]): DemoPassage[] {
  const matchers = keywords.map((keyword) => ({ keyword, matches: keywordMatcher(keyword) }));
  const matching = (text: string) => {
    const lower = text.toLowerCase();
    return matchers.filter(({ matches }) => matches(lower)).map(({ keyword }) => keyword);
  };
  const candidates = documents.flatMap((document) =>
    plainSentences(document.text.slice(0, MAX_TEXT)).map((text, position) => {
      return { text, document, position, found: matching(text) };
    }),
  );
  const counts = Map.groupBy(
    candidates.flatMap(({ found }) => found),
    (keyword) => keyword,
  );
  const rarity = (keyword: string) => Math.log(1 + candidates.length / (1 + (counts.get(keyword)?.length ?? 0)));
  return candidates
    .filter(({ found }) => found.length > 0)
    .map(({ text, document, position, found }): DemoPassage => {
      const weight = found.reduce((sum, keyword) => sum + rarity(keyword), 0);
      const titled = matching(document.title).length * 0.3;
      const early = 0.4 / (1 + position / 5);
      const brevity = 1 / (0.7 + text.length / 400);
      const score = (weight + titled + early) * brevity * (document.read ? 1.2 : 1);
      return { text, document, score, matches: found.length, position };
    })
    .sort((a, b) => b.score - a.score || a.document.sourceId - b.document.sourceId || a.position - b.position);
}

/** The best passages, at most `limit`, without repeats, and at most half of them from one document. */
export function choosePassages(passages: readonly DemoPassage[], limit: number): DemoPassage[] {
  const chosen: DemoPassage[] = [];
  const perDocument = Math.ceil(limit / 2);
  for (const passage of passages) {
    if (chosen.length === limit) break;
    if (chosen.filter(({ document }) => document === passage.document).length >= perDocument) continue;
    if (chosen.some(({ text }) => text === passage.text)) continue;
    chosen.push(passage);
  }
  return chosen;
}
