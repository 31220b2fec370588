import { isObject, parseJson } from '../../base/json.ts';
import { allSteps, inSlices } from '../../base/load/event-loop.ts';
import { onOneLine } from '../../base/text.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { Source } from '../run/sources.ts';
import type { ResearchState } from '../run/state.ts';
import type { AcceptedPassage, ResultEntry } from '../run/transcript.ts';
import { namedWords } from './named-words.ts';
import { BORDER, shownPassages } from './passages.ts';
import { claimBefore } from './sentences.ts';
import { type Carried, carries, supportOfNamed } from './support.ts';
import { type Parsed, parseSentence } from './text/parsed.ts';
import { SourceText } from './text/source-text.ts';

/** What a citation says of how its source carries it (docs/research.md, "Claims"). */
export type Support = Pick<UrlCitation, 'support' | 'cited_text'>;

/** Holds what is cited against its sources. */
export type CitationCheck = Pick<ClaimChecker, 'opening' | 'check'>;

/** Of a citation that nothing was held against. */
export const UNCHECKED: Support = { cited_text: null, support: 'unchecked' };

/** Where a text of a source stands: all of a result, its content, or one of its hits. */
interface Place {
  result: string;
  part: 'all' | 'content' | number;
}

/** What tool results showed of each source, by its number: pages first, then what searches said of them. */
type Places = ReadonlyMap<number, readonly Place[]>;

/**
 * Holds sentences of an answer against what the run was shown of its sources. It looks at the transcript alone, so that
 * a run that is taken up judges as the one before. Only the texts of sources that it is asked about are taken apart: a run
 * reads more than it cites.
 */
export class ClaimChecker {
  readonly #places: Places;
  readonly #texts = new Map<number, SourceText>();
  /** Passages that the model named, by source and claim. */
  readonly #accepted = new Map<string, string>();
  /** What was judged already: a text that a model looks at is judged before and after. */
  readonly #judged = new Map<string, Carried>();
  /** The same claims are judged, shown to the model and held against its words. */
  readonly #parsed = new Map<string, Parsed>();

  private constructor(places: Places) {
    this.#places = places;
  }

  /** One that takes for `partial` what says anything in words that its source does not have: what a model should look at. */
  strict(): CitationCheck {
    return {
      opening: (sources) => this.opening(sources),
      check: (text, source) => this.#check(text, source, { isStrict: true }),
    };
  }

  /** Looks through all results for what they show of sources, in steps that do not hold up others. */
  static async of({ results }: Pick<ResearchState, 'results'>): Promise<ClaimChecker> {
    const pages = new Map<number, Place[]>();
    const hits = new Map<number, Place[]>();
    await inSlices(results.values(), (entry) => notePlaces(entry, { pages, hits }), { stepsALook: 1 });
    for (const [id, places] of hits) pages.set(id, [...(pages.get(id) ?? []), ...places]);
    return new ClaimChecker(pages);
  }

  /** Takes the texts of sources apart, in steps. Whoever asks about another source waits for all of its text. */
  *opening(sources: Iterable<Source>): Generator<undefined> {
    for (const { id, title, snippet } of sources) {
      if (this.#texts.has(id)) continue;
      const shown = new Set<string>();
      for (const place of this.#places.get(id) ?? []) {
        const text = textAt(place);
        if (text.trim() !== '') shown.add(text);
        yield;
      }
      const text = shown.size > 0 ? [...shown].join(BORDER) : snippet;
      this.#texts.set(id, yield* SourceText.opening({ title, text }));
    }
  }

  /** The same in slices between which everything else has its turn. */
  async open(sources: Iterable<Source>): Promise<void> {
    await inSlices(this.opening(sources), () => {}, { stepsALook: 1 });
  }

  #textOf(source: Source): SourceText | undefined {
    allSteps(this.opening([source]));
    return this.#texts.get(source.id);
  }

  /**
   * What a source says of the claim that a text ends with. A source that was only listed, or of which no text was shown,
   * leaves it `unchecked`, as does a claim that says nothing, such as `See [1]`.
   */
  check(text: string, source: Source): Support {
    return this.#check(text, source, { isStrict: false });
  }

  #check(text: string, source: Source, { isStrict }: { isStrict: boolean }): Support {
    const claim = this.#parse(claimBefore(text));
    const own = this.#textOf(source);
    const isRead = source.kind === 'read';
    // One word alone says nothing: `See also`.
    const says = claim.words.length > 1 || claim.figures.length + claim.dates.length > 0;
    if (!own || own.sentences === 0 || !says) return UNCHECKED;
    const carried = this.#carries(claim, own, source.id);
    const { passage } = carried;
    const isDoubted = isStrict && carried.support === 'quoted' && !carried.isCopied;
    const support = isDoubted ? 'partial' : carried.support;
    const accepted = support === 'quoted' ? undefined : this.#accepted.get(keyOf(source.id, claim.text));
    if (accepted !== undefined)
      return { cited_text: accepted, support: isRead ? supportOfNamed(claim, accepted, own) : 'unchecked' };
    const cited_text = passage ? own.text.slice(passage.start, passage.end).trim() : null;
    return { cited_text, support: isRead ? support : 'unchecked' };
  }

  /** Takes what the model named as the words that carry a claim. */
  accept(passages: readonly AcceptedPassage[]): void {
    for (const { claim, source, text } of passages) this.#accepted.set(keyOf(source, claim), text);
  }

  /** What stands in a source around the places that share most with a claim, for a model that judges it. */
  passages(claim: string, source: Source): string[] {
    const own = this.#textOf(source);
    if (!own || own.sentences === 0) return [];
    return shownPassages(this.#parse(claim), own).map(({ start, end }) => onOneLine(own.text.slice(start, end)));
  }

  /** The words of a source that a model meant with the words that it names, as they stand there; undefined where none do. */
  wordsOf(source: Source, { claim, named }: { claim: string; named: string }): string | undefined {
    const own = this.#textOf(source);
    return own && namedWords(this.#parse(claim), named, own);
  }

  #carries(claim: Parsed, text: SourceText, source: number): Carried {
    const key = keyOf(source, claim.text);
    const carried = this.#judged.get(key) ?? carries(claim, text);
    if (this.#judged.size < MAX_JUDGED) this.#judged.set(key, carried);
    return carried;
  }

  #parse(claim: string): Parsed {
    const parsed = this.#parsed.get(claim) ?? parseSentence(claim);
    if (this.#parsed.size < MAX_JUDGED) this.#parsed.set(claim, parsed);
    return parsed;
  }

  /** Those of the sources that were read, with their texts. */
  async read(sources: readonly Source[]): Promise<[source: Source, text: SourceText][]> {
    const read = sources.filter(({ kind }) => kind === 'read');
    await this.open(read);
    return read.flatMap((source): [Source, SourceText][] => {
      const text = this.#texts.get(source.id);
      return text ? [[source, text]] : [];
    });
  }
}

/** Judgements, and claims, that are kept. */
const MAX_JUDGED = 1000;

function keyOf(source: number, claim: string): string {
  return `${source} ${claim}`;
}

function notePlaces(
  { status, result, sources }: ResultEntry,
  { pages, hits }: { pages: Map<number, Place[]>; hits: Map<number, Place[]> },
): void {
  if (status !== 'completed') return;
  const value = parseJson(result);
  const [only] = sources;
  if (!isObject(value)) {
    if (only && sources.length === 1) note(pages, only.id, { result, part: 'all' });
    return;
  }
  if (typeof value.content === 'string') note(pages, value.source_id, { result, part: 'content' });
  const found = Array.isArray(value.results) ? value.results : [];
  for (const [part, hit] of found.entries()) if (isObject(hit)) note(hits, hit.source_id, { result, part });
}

function note(places: Map<number, Place[]>, id: unknown, place: Place): void {
  if (typeof id !== 'number') return;
  const known = places.get(id) ?? [];
  known.push(place);
  places.set(id, known);
}

/** The text at a place, or ''. */
function textAt({ result, part }: Place): string {
  if (part === 'all') return result;
  const value = parseJson(result);
  if (!isObject(value)) return '';
  const hit = part === 'content' || !Array.isArray(value.results) ? undefined : value.results[part];
  const text = part === 'content' ? value.content : isObject(hit) ? hit.snippet : undefined;
  return typeof text === 'string' ? text : '';
}
