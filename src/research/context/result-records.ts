import { isObject, parseJson, scalarText } from '../../base/json.ts';
import { collapseSpaces } from '../../base/text.ts';
import type { EvidenceRecord } from '../run/evidence.ts';
import { hasSourceNumbers, isOwnTool } from '../run/own-tools.ts';
import type { ExecutableCall, ResultEntry } from '../run/transcript.ts';
import { keywords, type RankedText, rankText, rankTextInSteps } from '../text/key-facts.ts';

/** Extracts evidence from tool results without a model: the sentences that are most relevant to the question and the call. */

/** How much is retained of one result, and of one search hit, in UTF-16 code units. */
const MAX_LENGTH = 2400;
const MAX_HIT_LENGTH = 400;

export interface Extraction {
  /** The keywords of the question. */
  about: ReadonlySet<string>;
  /** The research turn, counted from 1. */
  turn: number;
}

/** The records of a result, extracted with pauses for the event loop. Failed and empty results have none. */
export async function recordsOf(
  call: ExecutableCall,
  result: Pick<ResultEntry, 'status' | 'result'>,
  { about, turn }: Extraction,
): Promise<EvidenceRecord[]> {
  const wanted = about.union(keywords(call.arguments));
  const records: EvidenceRecord[] = [];
  for (const part of readResult(call, result)) {
    if (part.kind === 'hit') records.push(hitOf(part, wanted, turn));
    else records.push(...sentencesOf(part, await rankTextInSteps(part.text, wanted), turn));
  }
  // Copies, because a slice of a string keeps the whole string in memory.
  return structuredClone(records);
}

/** A text in a result. `from`: where it starts in its source; null if unknown. */
interface Part {
  kind: 'text' | 'hit';
  source: number | null;
  text: string;
  from: number | null;
}

function readResult(call: ExecutableCall, { status, result }: Pick<ResultEntry, 'status' | 'result'>): Part[] {
  if (status !== 'completed' || isOwnTool(call.name)) return [];
  const value = parseJson(result);
  const whole: Part = { kind: 'text', source: null, text: result, from: 0 };
  if (!isObject(value)) return [whole];
  if (isObject(value.error)) return [];
  const sourceOf = (part: Record<string, unknown>) =>
    hasSourceNumbers(call, value) ? sourceIdIn(part.source_id) : null;
  if (Array.isArray(value.results)) {
    return value.results.flatMap((hit): Part[] =>
      isObject(hit) ? [{ kind: 'hit', source: sourceOf(hit), text: hitText(hit), from: 0 }] : [],
    );
  }
  if (typeof value.content !== 'string') return [whole];
  const args = parseJson(call.arguments);
  const offset = isObject(args) ? Math.floor(Number(scalarText(args.offset ?? 0))) : 0;
  const from = Number.isSafeInteger(offset) && offset > 0 ? offset : 0;
  const source = sourceOf(value);
  return [
    { kind: 'text', source, text: value.content, from },
    ...hintsIn(value).map((text): Part => ({ kind: 'text', source, text, from: null })),
  ];
}

/** Excerpts of what a page says of the goal elsewhere. */
export function hintsIn({ more_on_goal: hints }: Record<string, unknown>): string[] {
  const all = Array.isArray(hints) ? hints : [];
  return all.flatMap((hint) => (isObject(hint) && typeof hint.text === 'string' ? [hint.text] : []));
}

function hitText({ snippet, title }: Record<string, unknown>): string {
  if (typeof snippet === 'string' && snippet.trim() !== '') return snippet;
  return typeof title === 'string' ? title : '';
}

function hitOf({ source, text }: Part, about: ReadonlySet<string>, turn: number): EvidenceRecord {
  const ranked = rankText(text.slice(0, MAX_LENGTH), about);
  const weight = keywords(ranked.plain).intersection(about).size + (/\p{N}/u.test(ranked.plain) ? 1 : 0);
  const quote = ranked.plain.slice(0, MAX_HIT_LENGTH);
  return { turn, by: 'tool', source, quote, at: placeOf(quote, text, 0), note: '', weight };
}

/** The best sentences within the limit, in their order. */
function sentencesOf({ source, text, from }: Part, ranked: RankedText, turn: number): EvidenceRecord[] {
  const { sentences, ranking } = ranked;
  const chosen: number[] = [];
  let left = MAX_LENGTH;
  for (const index of ranking.length > 0 ? ranking : sentences.keys()) {
    const { length } = sentences[index] ?? '';
    if (length + 1 > left) break;
    chosen.push(index);
    left -= length + 1;
  }
  const weights = new Map(chosen.map((index, rank) => [index, chosen.length - rank]));
  let after = 0;
  return chosen
    .sort((a, b) => a - b)
    .map((index): EvidenceRecord => {
      const quote = sentences[index] ?? '';
      const place = placeOf(quote, text, after);
      if (place !== null) after = place + 1;
      const at = place === null || from === null ? null : from + place;
      return { turn, by: 'tool', source, quote, at, note: '', weight: weights.get(index) ?? 0 };
    });
}

/** How many places are compared with a quote whose white space differs from the text. */
const MAX_PLACES = 20;

/** The index of a quote in a text, which may have different white space; null if it is not found. */
function placeOf(quote: string, text: string, after: number): number | null {
  const whole = text.indexOf(quote, after);
  if (whole !== -1) return whole;
  const [first = ''] = quote.split(' ', 1);
  let at = first === '' ? -1 : text.indexOf(first, after);
  for (let places = 0; at !== -1 && places < MAX_PLACES; places++) {
    const passage = collapseSpaces(text.slice(at, at + quote.length * 2));
    if (passage.startsWith(quote)) return at;
    at = text.indexOf(first, at + 1);
  }
  return null;
}

/** The number of a source in a result; null if it has none. */
export function sourceIdIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}
