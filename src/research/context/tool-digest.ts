import { step } from '../../base/event-loop.ts';
import { isObject, parseJson } from '../../base/json.ts';
import type { ExecutableCall, ResultEntry } from '../run/transcript.ts';
import { keywords, pickFacts, type RankedText, rankText } from '../text/key-facts.ts';

/**
 * Tool results reduced to title, source id and key facts (architecture: "Research loop", Context). What is kept is what
 * the question and the call were about.
 */

/** Results read and ranked once: a transcript of hundreds of them is reduced anew for every turn. */
export class Digests {
  /** The words that matter for the question. */
  readonly about: ReadonlySet<string>;
  readonly #read = new WeakMap<ResultEntry, ReadResult>();
  readonly #made = new WeakMap<ResultEntry, Map<number, string>>();

  constructor(about: ReadonlySet<string>) {
    this.about = about;
  }

  /** A result in `maxLength` UTF-16 code units at most, or a little over that where its number alone is longer. */
  digest(call: ExecutableCall, result: ResultEntry, maxLength: number): string {
    const made = this.#made.get(result) ?? new Map<number, string>();
    this.#made.set(result, made);
    const known = made.get(maxLength);
    if (known !== undefined) return known;
    const read = this.#read.get(result) ?? step('ranking a tool result', () => readResult(call, result, this.about));
    this.#read.set(result, read);
    const text = reduce(read, maxLength);
    made.set(maxLength, text);
    return text;
  }
}

/** One result reduced once; see `Digests` for many. */
export function digest(
  call: ExecutableCall,
  result: ResultEntry,
  options: { about: ReadonlySet<string>; maxLength: number },
): string {
  return new Digests(options.about).digest(call, result, options.maxLength);
}

type ReadResult =
  | { kind: 'text'; text: RankedText }
  | { kind: 'page'; number: string; title: string; text: RankedText }
  | { kind: 'hits'; hits: Hit[] }
  | { kind: 'said'; text: string };

interface Hit {
  number: string;
  title: string;
  snippet: RankedText;
  /** How much it tells, compared to the others. */
  weight: number;
}

function readResult(call: ExecutableCall, result: ResultEntry, question: ReadonlySet<string>): ReadResult {
  const about = question.union(keywords(call.arguments));
  const value = parseJson(result.result);
  if (!isObject(value)) return { kind: 'text', text: rankText(result.result, about) };
  if (isObject(value.error)) return { kind: 'said', text: `failed: ${textOf(value.error.message).slice(0, 160)}` };
  if (Array.isArray(value.results))
    return { kind: 'hits', hits: value.results.flatMap((hit) => (isObject(hit) ? [hitOf(hit, about)] : [])) };
  if (typeof value.content !== 'string') return { kind: 'text', text: rankText(result.result, about) };
  const title = textOf(value.title) || textOf(value.url);
  return { kind: 'page', number: numberOf(value.source_id), title, text: rankText(value.content, about) };
}

function hitOf(hit: Record<string, unknown>, about: ReadonlySet<string>): Hit {
  const snippet = rankText(textOf(hit.snippet), about);
  const told = keywords(snippet.plain).intersection(about).size + (/\p{N}/u.test(snippet.plain) ? 1 : 0);
  return { number: numberOf(hit.source_id), title: textOf(hit.title), snippet, weight: told };
}

/** Titles get this part of a digest at most. */
const TITLE_SHARE = 0.3;
const MAX_TITLE = 80;

function reduce(read: ReadResult, maxLength: number): string {
  switch (read.kind) {
    case 'said':
      return read.text;
    case 'text':
      return pickFacts(read.text, maxLength);
    case 'page': {
      const head = `[${read.number}] ${shorten(read.title, Math.min(MAX_TITLE, maxLength * TITLE_SHARE))}: `;
      return head + pickFacts(read.text, Math.max(40, maxLength - head.length));
    }
    case 'hits':
      return reduceHits(read.hits, maxLength);
  }
}

/** A hit that gets less than this is left out, or loses its title. */
const LEAST_HIT = 90;

/** All hits where there is room, else those that tell most, in their order. */
function reduceHits(hits: readonly Hit[], maxLength: number): string {
  if (hits.length === 0) return 'nothing was found';
  const fitting = Math.max(1, Math.floor(maxLength / LEAST_HIT));
  const ranked = hits.toSorted((a, b) => b.weight - a.weight).slice(0, fitting);
  const each = Math.floor(maxLength / ranked.length);
  return hits
    .filter((hit) => ranked.includes(hit))
    .map((hit) => reduceHit(hit, each - 1))
    .join('\n');
}

function reduceHit({ number, title, snippet }: Hit, maxLength: number): string {
  const head = `[${number}] ${shorten(title, Math.min(MAX_TITLE, maxLength * TITLE_SHARE))}`;
  if (snippet.plain === '') return head;
  return `${head}: ${pickFacts(snippet, Math.max(30, maxLength - head.length - 2))}`;
}

function shorten(text: string, length: number): string {
  const most = Math.max(8, Math.floor(length));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : '-';
}
