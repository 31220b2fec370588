import { isObject, parseJson } from '../../base/json.ts';
import { hasSourceNumbers } from '../run/own-tools.ts';
import type { ExecutableCall, ResultEntry } from '../run/transcript.ts';
import { keywords, pickFacts, type RankedText, rankText, rankTextInSteps, shortTitle } from '../text/key-facts.ts';

/**
 * Reduces tool results that are too large to be sent in full to title, source id and the key facts for the question and
 * the call (docs/research.md, "Context").
 */

/** A result in about `maxLength` UTF-16 code units at most. */
export async function digest(
  call: ExecutableCall,
  result: ResultEntry,
  options: { about: ReadonlySet<string>; maxLength: number },
): Promise<string> {
  const { maxLength } = options;
  const about = options.about.union(keywords(call.arguments));
  const value = parseJson(result.result);
  if (!isObject(value)) return pickFacts(await rankTextInSteps(result.result, about), maxLength);
  const number = (id: unknown) => (hasSourceNumbers(call, value) && typeof id === 'number' ? String(id) : '-');
  if (isObject(value.error)) return `failed: ${textOf(value.error.message).slice(0, 160)}`;
  if (Array.isArray(value.results)) {
    const hits = value.results.flatMap((hit) =>
      isObject(hit) ? [hitOf(hit, { about, number: number(hit.source_id) })] : [],
    );
    return reduceHits(hits, maxLength);
  }
  if (typeof value.content !== 'string') return pickFacts(await rankTextInSteps(result.result, about), maxLength);
  const title = textOf(value.title) || textOf(value.url);
  const head = `[${number(value.source_id)}] ${shortTitle(title, maxLength)}: `;
  return head + pickFacts(await rankTextInSteps(value.content, about), Math.max(40, maxLength - head.length));
}

interface Hit {
  number: string;
  title: string;
  snippet: RankedText;
  /** How relevant it is, compared to the others. */
  weight: number;
}

function hitOf(hit: Record<string, unknown>, { about, number }: { about: ReadonlySet<string>; number: string }): Hit {
  const snippet = rankText(textOf(hit.snippet), about);
  const weight = keywords(snippet.plain).intersection(about).size + (/\p{N}/u.test(snippet.plain) ? 1 : 0);
  return { number, title: textOf(hit.title), snippet, weight };
}

/** A hit needs this much room, in UTF-16 code units; otherwise it is left out. */
const MIN_HIT = 90;

/** All hits if there is room, else the most relevant ones, in their order. */
function reduceHits(hits: readonly Hit[], maxLength: number): string {
  if (hits.length === 0) return 'nothing was found';
  const fitting = Math.max(1, Math.floor(maxLength / MIN_HIT));
  const ranked = hits.toSorted((a, b) => b.weight - a.weight).slice(0, fitting);
  const each = Math.floor(maxLength / ranked.length);
  return hits
    .filter((hit) => ranked.includes(hit))
    .map((hit) => reduceHit(hit, each - 1))
    .join('\n');
}

function reduceHit({ number, title, snippet }: Hit, maxLength: number): string {
  const head = `[${number}] ${shortTitle(title, maxLength)}`;
  if (snippet.plain === '') return head;
  return `${head}: ${pickFacts(snippet, Math.max(30, maxLength - head.length - 2))}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
