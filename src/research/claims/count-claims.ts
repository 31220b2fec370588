import { parseJson } from '../../base/json.ts';
import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { Claims } from '../../protocol/response.ts';
import { answersNothing } from '../plan/shown-instead.ts';
import { type ResearchRequest, structuredFormat } from '../run/request.ts';
import type { ResearchState } from '../run/state.ts';
import { leavesOf } from './json-leaves.ts';
import { type AnswerSentence, plainText, sentencesOf } from './sentences.ts';

/** How the sentences of an answer are supported (docs/research.md, "Claims"). */

/** From the best to the worst. */
const ORDER = ['quoted', 'partial', 'none', 'unchecked'] as const;
/** Values without a source that are named. */
const MAX_PATHS = 1000;
/** Sentences that are counted before others have their turn. */
const AT_ONCE = 100;

/** The counts of a run's answer; null where it found no sources, wrote nothing, or only planned or asked back. */
export async function claimsOf(
  { text, annotations }: { text: string; annotations: readonly UrlCitation[] },
  { request, state }: { request: Pick<ResearchRequest, 'format' | 'plan'> | undefined; state: ResearchState },
): Promise<Claims | null> {
  if (text === '' || state.sources.size === 0 || answersNothing({ request, state })) return null;
  const isStructured = request !== undefined && structuredFormat({ request }) !== undefined;
  return await countClaims(text, annotations, { isStructured });
}

/** The counts of an answer with its citations: of its sentences, of a structured one of its values. The best citation counts. */
export async function countClaims(
  text: string,
  annotations: readonly UrlCitation[],
  { isStructured }: { isStructured: boolean },
): Promise<Claims> {
  if (isStructured && parseJson(text) !== undefined) return countLeaves(text, annotations);
  const claims = noClaims();
  let seen = 0;
  for (const { start, end, citations } of citedSentences(text, annotations)) {
    if (citations.length > 0) take(claims, citations);
    else if (saysFacts(text.slice(start, end)) && !isHead(text, end)) claims.unmarked++;
    if (++seen % AT_ONCE === 0) await yieldToEventLoop();
  }
  return claims;
}

/** The sentences of a text, each with the citations that stand in it. */
export function* citedSentences(
  text: string,
  annotations: readonly UrlCitation[],
): Generator<AnswerSentence & { citations: UrlCitation[] }> {
  const inOrder = annotations.toSorted((a, b) => a.start_index - b.start_index);
  let next = 0;
  for (const { start, end } of sentencesOf(text)) {
    const citations: UrlCitation[] = [];
    for (let citation = inOrder[next]; citation && citation.start_index < end; citation = inOrder[++next]) {
      if (citation.start_index >= start) citations.push(citation);
    }
    yield { start, end, citations };
  }
}

function countLeaves(text: string, annotations: readonly UrlCitation[]): Claims {
  const claims = noClaims();
  const byPath = Map.groupBy(annotations, ({ path }) => path);
  const unmarked: string[] = [];
  for (const { path } of leavesOf(text)) {
    const own = byPath.get(path);
    if (own) take(claims, own);
    else if (++claims.unmarked <= MAX_PATHS) unmarked.push(path);
  }
  return { ...claims, unmarked_paths: unmarked };
}

function noClaims(): Claims {
  return { checked: 0, quoted: 0, partial: 0, none: 0, unchecked: 0, unmarked: 0 };
}

function take(claims: Claims, citations: readonly UrlCitation[]): void {
  const best = ORDER.find((support) => citations.some((citation) => citation.support === support)) ?? 'unchecked';
  claims[best]++;
  if (best !== 'unchecked') claims.checked++;
}

const FIGURE = /\d/;
/** Two capitals in a row, a word in capitals or with one inside, a word of Katakana: a name wherever it stands. */
const NAME = /\p{Lu}\p{Ll}+ \p{Lu}\p{Ll}|(?<!\p{L})\p{Lu}{2,}(?!\p{L})|\p{Ll}\p{Lu}|[\u30a0-\u30ff]{4}/u;

/** Whether what ends here is the head of a table: the line that parts it from the rows follows. */
function isHead(text: string, end: number): boolean {
  return /^ {0,3}\|? {0,8}:?-{2,80}:? {0,8}\|/.test(text.slice(end, end + LONGEST_CELL));
}
const LONGEST_CELL = 100;

/** Whether a sentence has a figure or a name, so that it should name its source. Questions say nothing. */
function saysFacts(sentence: string): boolean {
  const plain = plainText(sentence);
  return !/[?？]["'”’»)]*$/.test(plain) && (FIGURE.test(plain) || NAME.test(plain));
}
