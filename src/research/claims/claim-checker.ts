import { isObject, parseJson } from '../../base/json.ts';
import { drainSteps, inSlices } from '../../base/load/event-loop.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import { hintsIn } from '../context/result-records.ts';
import { hasSourceNumbers } from '../run/own-tools.ts';
import type { Source } from '../run/sources.ts';
import type { ResearchState } from '../run/state.ts';
import type { AcceptedPassage, ExecutableCall, ResultEntry } from '../run/transcript.ts';
import { findQuote } from './find-quote.ts';
import { BORDER, shownPassages } from './passages.ts';
import { claimBefore } from './sentences.ts';
import { findSupport, type SupportResult, supportOfQuote } from './support.ts';
import { parseSentence, type Sentence } from './text/parse-sentence.ts';
import { SourceText } from './text/source-text.ts';
import type { Range } from './verbatim.ts';

/** How well a source supports a citation (docs/research.md, "Claims"). */
export type Support = Pick<UrlCitation, 'support' | 'cited_text'>;

/** The support of a citation that was not checked. */
export const UNCHECKED: Support = { cited_text: null, support: 'unchecked' };

/** Where a text of a source is found: a whole tool result, the content of one, or one of its hits. */
interface Place {
  result: string;
  part: 'all' | 'content' | number;
}

/** The places of each source's text, by its number: pages first, then snippets of searches. */
type Places = ReadonlyMap<number, readonly Place[]>;

/**
 * Checks sentences of an answer against the texts of their sources that the run has seen. It depends on the transcript
 * alone, so a resumed run judges the same way. Only the texts of cited sources are parsed: a run reads more than it cites.
 */
export class ClaimChecker {
  readonly #places: Places;
  readonly #texts = new Map<number, SourceText>();
  /** Passages that the model named, by source and claim. */
  readonly #accepted = new Map<string, string>();
  /** Results by source and claim: a text that the model verifies is checked before and after. */
  readonly #judged = new Map<string, SupportResult>();

  private constructor(places: Places) {
    this.#places = places;
  }

  /** Finds the texts of sources in all results, with pauses for the event loop. */
  static async of({ results, calls }: Pick<ResearchState, 'results' | 'calls'>): Promise<ClaimChecker> {
    const pages = new Map<number, Place[]>();
    const hits = new Map<number, Place[]>();
    const note = (entry: ResultEntry) => notePlaces(entry, { call: calls.get(entry.call), pages, hits });
    await inSlices(results.values(), note, { stepsPerClockRead: 1 });
    for (const [id, places] of hits) pages.set(id, [...(pages.get(id) ?? []), ...places]);
    return new ClaimChecker(pages);
  }

  /** Parses the texts of sources, in steps. The text of any other source is parsed on demand, without pauses. */
  *openInSteps(sources: Iterable<Source>): Generator<undefined> {
    for (const { id, title, snippet } of sources) {
      if (this.#texts.has(id)) continue;
      const texts = new Set<string>();
      for (const place of this.#places.get(id) ?? []) {
        const text = textAt(place);
        if (text.trim() !== '') texts.add(text);
        yield;
      }
      const text = texts.size > 0 ? [...texts].join(BORDER) : snippet;
      this.#texts.set(id, yield* SourceText.openInSteps({ title, text }));
    }
  }

  /** Parses the texts of sources, with pauses for the event loop. */
  async open(sources: Iterable<Source>): Promise<void> {
    await inSlices(this.openInSteps(sources), () => {}, { stepsPerClockRead: 1 });
  }

  #textOf(source: Source): SourceText | undefined {
    drainSteps(this.openInSteps([source]));
    return this.#texts.get(source.id);
  }

  /**
   * How well a source supports the claim at the end of a text. It is `unchecked` if the source was only listed, if none of
   * its text is known, or if the claim states nothing, such as `See [1]`.
   */
  check(text: string, source: Source): Support {
    const claim = parseSentence(claimBefore(text));
    const own = this.#textOf(source);
    const isRead = source.kind === 'read';
    // A single word states nothing: `See also`.
    const statesSomething = claim.words.length > 1 || claim.figures.length + claim.dates.length > 0;
    if (!own || own.sentences === 0 || !statesSomething) return UNCHECKED;
    const result = this.#supportFor(claim, own, source.id);
    const { passage } = result;
    const named = this.#accepted.get(keyOf(source.id, claim.text));
    const support = result.support === 'quoted' && named === NO_WORDS ? 'partial' : result.support;
    if (named && support !== 'quoted')
      return { cited_text: named, support: isRead ? supportOfQuote(claim, named, own) : 'unchecked' };
    const cited_text = passage ? own.text.slice(passage.start, passage.end).trim() : null;
    return { cited_text, support: isRead ? support : 'unchecked' };
  }

  /** Whether a source has the whole claim as one or more of its sentences; about any other the rules may be wrong. */
  isCopy(claim: string, source: Source): boolean {
    const own = this.#textOf(source);
    return own !== undefined && this.#supportFor(parseSentence(claim), own, source.id).isCopied;
  }

  /** Accepts passages that the model named as support for claims. */
  accept(passages: readonly AcceptedPassage[]): void {
    for (const { claim, source, text } of passages) this.#accepted.set(keyOf(source, claim), text);
  }

  /** The passages of a source that share most with a claim, with their surroundings, for a model that judges the claim. */
  passages(claim: string, source: Source): Range[] {
    const own = this.#textOf(source);
    return own ? shownPassages(parseSentence(claim), own) : [];
  }

  textIn(source: Source, { start, end }: Range): string {
    return this.#textOf(source)?.text.slice(start, end) ?? '';
  }

  /** The words of a source that the model meant when it quoted `named`, verbatim; undefined if there are none. */
  quoteIn(source: Source, { claim, named }: { claim: string; named: string }): string | undefined {
    const own = this.#textOf(source);
    return own && findQuote(parseSentence(claim), named, own);
  }

  #supportFor(claim: Sentence, text: SourceText, source: number): SupportResult {
    const key = keyOf(source, claim.text);
    const result = this.#judged.get(key) ?? findSupport(claim, text);
    if (this.#judged.size < MAX_JUDGED) this.#judged.set(key, result);
    return result;
  }

  /** The sources that were read, with their texts. */
  async read(sources: readonly Source[]): Promise<[source: Source, text: SourceText][]> {
    const read = sources.filter(({ kind }) => kind === 'read');
    await this.open(read);
    return read.flatMap((source): [Source, SourceText][] => {
      const text = this.#texts.get(source.id);
      return text ? [[source, text]] : [];
    });
  }
}

/** The text of a passage by which the model says that it found none. */
export const NO_WORDS = '';

/** How many results are cached. */
const MAX_JUDGED = 1000;

function keyOf(source: number, claim: string): string {
  return `${source} ${claim}`;
}

function notePlaces(
  { status, result, sources }: ResultEntry,
  { call, pages, hits }: { call: ExecutableCall | undefined } & Record<'pages' | 'hits', Map<number, Place[]>>,
): void {
  if (status !== 'completed') return;
  const value = parseJson(result);
  const [only] = sources;
  if (!isObject(value)) {
    if (only && sources.length === 1) note(pages, only.id, { result, part: 'all' });
    return;
  }
  if (call && !hasSourceNumbers(call, value)) return;
  if (typeof value.content === 'string') note(pages, value.source_id, { result, part: 'content' });
  const found = Array.isArray(value.results) ? value.results : [];
  for (const [part, hit] of found.entries()) if (isObject(hit)) note(hits, hit.source_id, { result, part });
}

function note(places: Map<number, Place[]>, id: unknown, place: Place): void {
  if (typeof id === 'number') places.getOrInsertComputed(id, () => []).push(place);
}

function textAt({ result, part }: Place): string {
  if (part === 'all') return result;
  const value = parseJson(result);
  if (!isObject(value)) return '';
  if (part === 'content') return [value.content, ...hintsIn(value)].join(BORDER);
  const hit = Array.isArray(value.results) ? value.results[part] : undefined;
  return isObject(hit) && typeof hit.snippet === 'string' ? hit.snippet : '';
}
