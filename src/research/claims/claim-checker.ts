import { isObject, parseJson } from '../../base/json.ts';
import { inSlices } from '../../base/load/event-loop.ts';
import { onOneLine } from '../../base/text.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { Source } from '../run/sources.ts';
import type { ResearchState } from '../run/state.ts';
import type { AcceptedPassage } from '../run/transcript.ts';
import { namedWords } from './named-words.ts';
import { BORDER, shownPassages } from './passages.ts';
import { claimBefore } from './sentences.ts';
import { type Carried, carries, supportOfNamed } from './support.ts';
import { type Parsed, parseSentence } from './text/parsed.ts';
import { SourceText } from './text/source-text.ts';

/** What a citation says of how its source carries it (docs/research.md, "Claims"). */
export type Support = Pick<UrlCitation, 'support' | 'cited_text'>;

/** Of a citation that nothing was held against. */
export const UNCHECKED: Support = { cited_text: null, support: 'unchecked' };

/**
 * Holds sentences of an answer against what the run was shown of its sources. It looks at the transcript alone, so that
 * a run that is taken up judges as the one before.
 */
export class ClaimChecker {
  readonly #texts: ReadonlyMap<number, SourceText>;
  /** Passages that the model named, by source and claim. */
  readonly #accepted = new Map<string, string>();
  #last: { text: string; claim: Parsed } | undefined;

  readonly #isStrict: boolean;
  /** What was judged already: a text that a model looks at is judged before and after. */
  readonly #judged: Map<string, Carried>;
  /** The same claims are judged, shown to the model and held against its words. */
  readonly #parsed: Map<string, Parsed>;

  private constructor(
    texts: ReadonlyMap<number, SourceText>,
    { isStrict = false, judged = new Map<string, Carried>(), parsed = new Map<string, Parsed>() } = {},
  ) {
    this.#texts = texts;
    this.#isStrict = isStrict;
    this.#judged = judged;
    this.#parsed = parsed;
  }

  /** One that takes for `partial` what says anything in words that its source does not have: what a model should look at. */
  strict(): ClaimChecker {
    return new ClaimChecker(this.#texts, { isStrict: true, judged: this.#judged, parsed: this.#parsed });
  }

  /** Takes the texts of all sources apart, in steps that do not hold up others. */
  static async of(state: Pick<ResearchState, 'sources' | 'results'>): Promise<ClaimChecker> {
    const texts = new Map<number, SourceText>();
    await inSlices(openAll(state, texts), () => {}, { stepsALook: 1 });
    return new ClaimChecker(texts);
  }

  /**
   * What a source says of the claim that a text ends with. A source that was only listed, or of which no text was shown,
   * leaves it `unchecked`, as does a claim that says nothing, such as `See [1]`.
   */
  check(text: string, source: Source): Support {
    const claim = this.#claimOf(text);
    const own = this.#texts.get(source.id);
    const isRead = source.kind === 'read';
    // One word alone says nothing: `See also`.
    const says = claim.words.length > 1 || claim.figures.length + claim.dates.length > 0;
    if (!own || own.sentences === 0 || !says) return UNCHECKED;
    const carried = this.#carries(claim, own, source.id);
    const { passage } = carried;
    const isDoubted = this.#isStrict && carried.support === 'quoted' && !carried.isCopied;
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
    const own = this.#texts.get(source.id);
    if (!own || own.sentences === 0) return [];
    return shownPassages(this.#parse(claim), own).map(({ start, end }) => onOneLine(own.text.slice(start, end)));
  }

  /** The words of a source that a model meant with the words that it names, as they stand there; undefined where none do. */
  wordsOf(source: Source, { claim, named }: { claim: string; named: string }): string | undefined {
    const own = this.#texts.get(source.id);
    return own && namedWords(this.#parse(claim), named, own);
  }

  #carries(claim: Parsed, text: SourceText, source: number): Carried {
    const key = keyOf(source, claim.text);
    const carried = this.#judged.get(key) ?? carries(claim, text);
    if (this.#judged.size < MOST_JUDGED) this.#judged.set(key, carried);
    return carried;
  }

  /** A marker may name many sources: they are held against one claim. */
  #claimOf(text: string): Parsed {
    if (this.#last?.text !== text) this.#last = { text, claim: this.#parse(claimBefore(text)) };
    return this.#last.claim;
  }

  #parse(claim: string): Parsed {
    const parsed = this.#parsed.get(claim) ?? parseSentence(claim);
    if (this.#parsed.size < MOST_JUDGED) this.#parsed.set(claim, parsed);
    return parsed;
  }

  /** The texts of the sources that were read, by their numbers. */
  *read(sources: readonly Source[]): Generator<[source: Source, text: SourceText]> {
    for (const source of sources) {
      const text = this.#texts.get(source.id);
      if (source.kind === 'read' && text) yield [source, text];
    }
  }
}

/** Judgements, and claims, that are kept. */
const MOST_JUDGED = 1000;

function keyOf(source: number, claim: string): string {
  return `${source} ${claim}`;
}

/** Takes the texts of all sources apart, step by step. */
function* openAll(
  state: Pick<ResearchState, 'sources' | 'results'>,
  texts: Map<number, SourceText>,
): Generator<undefined> {
  const shown = yield* shownTexts(state);
  for (const { id, title, snippet } of state.sources.all()) {
    const text = (shown.get(id) ?? [snippet]).join(BORDER);
    texts.set(id, yield* SourceText.opening({ title, text }));
  }
}

/** What tool results showed of each source: pages first, then what searches said of them. */
function* shownTexts({ results }: Pick<ResearchState, 'results'>): Generator<undefined, Map<number, string[]>> {
  const pages = new Map<number, string[]>();
  const hits = new Map<number, string[]>();
  for (const { status, result, sources } of results.values()) {
    yield;
    if (status !== 'completed') continue;
    const value = parseJson(result);
    const [only] = sources;
    if (!isObject(value)) {
      if (only && sources.length === 1) add(pages, only.id, result);
      continue;
    }
    if (typeof value.content === 'string') add(pages, value.source_id, value.content);
    for (const hit of Array.isArray(value.results) ? value.results : []) {
      if (isObject(hit) && typeof hit.snippet === 'string') add(hits, hit.source_id, hit.snippet);
    }
  }
  for (const [id, snippets] of hits) for (const snippet of snippets) add(pages, id, snippet);
  return pages;
}

function add(texts: Map<number, string[]>, id: unknown, text: string): void {
  if (typeof id !== 'number' || text.trim() === '') return;
  const known = texts.get(id) ?? [];
  if (!known.includes(text)) known.push(text);
  texts.set(id, known);
}
