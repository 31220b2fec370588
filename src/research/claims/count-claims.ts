import { parseJson } from '../../base/json.ts';
import { inSlices } from '../../base/load/event-loop.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { Claims } from '../../protocol/response.ts';
import { endsWithoutAnswer } from '../plan/substitute.ts';
import { type ResearchRequest, structuredFormat } from '../run/request.ts';
import type { ResearchState } from '../run/state.ts';
import { leavesOf } from './json-leaves.ts';
import { type AnswerSentence, plainText, sentencesOf } from './sentences.ts';

/** Counts how the sentences of an answer are supported (docs/research.md, "Claims"). */

/** From the best to the worst. */
const ORDER = ['quoted', 'partial', 'none', 'unchecked'] as const;
/** How many values without a source are listed. */
const MAX_PATHS = 1000;

/** The counts of a run's answer; null if it found no sources, wrote nothing, or only proposed a plan or asked the user. */
export async function countRunClaims(
  { text, annotations }: { text: string; annotations: readonly UrlCitation[] },
  { request, state }: { request: Pick<ResearchRequest, 'format' | 'plan'> | undefined; state: ResearchState },
): Promise<Claims | null> {
  if (text === '' || state.sources.size === 0 || endsWithoutAnswer({ request, state })) return null;
  const isStructured = request !== undefined && structuredFormat({ request }) !== undefined;
  return await countClaims(text, annotations, { isStructured });
}

/** Counts the sentences of an answer, or the values of a structured one. Of several citations the best one counts. */
export async function countClaims(
  text: string,
  annotations: readonly UrlCitation[],
  { isStructured }: { isStructured: boolean },
): Promise<Claims> {
  if (isStructured && parseJson(text) !== undefined) return await countLeaves(text, annotations);
  const claims = noClaims();
  await inSlices(citedSentences(text, annotations), ({ start, end, citations }) => {
    if (citations.length > 0) countCited(claims, citations);
    else if (statesFacts(text.slice(start, end)) && !isTableHead(text, end)) claims.unmarked++;
  });
  return claims;
}

/** The sentences of a text, each with its citations. */
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

async function countLeaves(text: string, annotations: readonly UrlCitation[]): Promise<Claims> {
  const claims = noClaims();
  const byPath = Map.groupBy(annotations, ({ path }) => path);
  const unmarked: string[] = [];
  await inSlices(leavesOf(text), ({ path }) => {
    const own = byPath.get(path);
    if (own) countCited(claims, own);
    else if (++claims.unmarked <= MAX_PATHS) unmarked.push(path);
  });
  return { ...claims, unmarked_paths: unmarked };
}

function noClaims(): Claims {
  return { checked: 0, quoted: 0, partial: 0, none: 0, unchecked: 0, unmarked: 0 };
}

function countCited(claims: Claims, citations: readonly UrlCitation[]): void {
  const best = ORDER.find((support) => citations.some((citation) => citation.support === support)) ?? 'unchecked';
  claims[best]++;
  if (best !== 'unchecked') claims.checked++;
}

const FIGURE = /\d/;
/** Two capitalised words in a row, a word with several capitals, a word in Katakana: a name even at the start of a sentence. */
const NAME = /\p{Lu}\p{Ll}+ \p{Lu}\p{Ll}|(?<!\p{L})\p{Lu}{2,}(?!\p{L})|\p{Ll}\p{Lu}|[\u30a0-\u30ff]{4}/u;

/** Whether the row that ends here is the head of a table: a separator row follows it. */
function isTableHead(text: string, end: number): boolean {
  return /^ {0,3}\|? {0,8}:?-{2,80}:? {0,8}\|/.test(text.slice(end, end + LONGEST_CELL));
}
const LONGEST_CELL = 100;

/** Whether a sentence has a figure or a name, so that it should cite a source. Questions state nothing. */
function statesFacts(sentence: string): boolean {
  const plain = plainText(sentence);
  return !/[?？]["'”’»)]*$/.test(plain) && (FIGURE.test(plain) || NAME.test(plain));
}
