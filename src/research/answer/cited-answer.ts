import { inSlices } from '../../base/load/event-loop.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { ChartEvidence } from '../charts/chart-evidence.ts';
import { ChartFilter, type ChartPart } from '../charts/chart-filter.ts';
import { behindCharts, writeChart } from '../charts/write-chart.ts';
import { type CitationCheck, type Support, UNCHECKED } from '../claims/claim-checker.ts';
import { LONGEST_CLAIM } from '../claims/sentences.ts';
import { piecesOf } from '../run/live-steps.ts';
import type { Source, SourceRegistry } from '../run/sources.ts';
import { type AnswerPart, AnswerScanner } from './answer-scanner.ts';
import { citation } from './citation.ts';
import type { MayShow } from './safe-markup.ts';
import { spaced } from './shown-thoughts.ts';
import { urlIn } from './url-in-text.ts';

/** A piece of the answer as the client reads it. */
export interface CitedText {
  text: string;
  /** Citations that are complete with it, in the order of the text. */
  annotations: UrlCitation[];
  /** Numbers in markers that belong to no source. */
  unknown: number[];
}

/** An answer that was begun by another instance, or before a cut: its text and annotations as the log has them. */
export interface BegunAnswer {
  text: string;
  annotations: readonly UrlCitation[];
}

interface CitingOptions {
  /** Markers keep the numbers that the model knows: as they are written, or all of them as `[1, 2]`. */
  keepNumbers?: 'as_written' | 'in_brackets';
  mayShow?: MayShow;
  /** Holds what is cited against its sources; without it nothing is checked. */
  claims?: CitationCheck | undefined;
  /** What its charts may show; without it a block of one is code like any other. */
  charts?: ChartEvidence | undefined;
}

/** Of an address that the run never saw. */
const UNSEEN: Support = { cited_text: null, support: 'none' };

/** What stands for a marker that belongs to no source. */
const NO_SOURCE = '[?]';

/**
 * The answer of the model as its client reads it (docs/research.md, "Sources and citations"): while it streams, markers
 * are renumbered 1, 2, 3 in the order of their first use, and citations come as soon as they are complete. The
 * model keeps its own numbers. All of its state comes from the log, so that an answer goes on after a crash as it
 * began.
 */
export class CitedAnswer {
  readonly #sources: SourceRegistry;
  readonly #scanner: AnswerScanner;
  /** Numbers in the text by source id. */
  readonly #numbers = new Map<number, number>();
  readonly #begun: BegunAnswer;
  readonly #claims: CitationCheck | undefined;
  readonly #charts: { evidence: ChartEvidence; filter: ChartFilter } | undefined;
  /** The end of the text so far: the claim that the next marker stands for. */
  #tail = '';
  /** Also set by an answer that an earlier version began: it left markers as they were, so the rest goes on that way. */
  #keepsNumbers: CitingOptions['keepNumbers'];
  /** What was begun is read, not written. */
  #isReading = false;
  /** Citations of what was begun that are not in the log: earlier versions wrote them at the end. */
  #owed = nothing();
  /** Length of the text so far, in UTF-16 code units. */
  #length = 0;

  constructor(
    sources: SourceRegistry,
    begun: BegunAnswer = { text: '', annotations: [] },
    { keepNumbers, mayShow, claims, charts }: CitingOptions = {},
  ) {
    this.#sources = sources;
    this.#begun = begun;
    this.#keepsNumbers = keepNumbers;
    this.#claims = claims;
    this.#charts = charts && { evidence: charts, filter: new ChartFilter(begun.text) };
    this.#scanner = new AnswerScanner((raw) => urlIn(raw, sources).length, mayShow);
    for (const { index, source_id } of begun.annotations)
      if (index !== null && source_id !== null) this.#numbers.set(source_id, index);
    if (begun.text !== '') this.#read(begun);
  }

  /** Length of what the client has, in UTF-16 code units. */
  get length(): number {
    return this.#length;
  }

  /** What was begun, from a place of its text on, as the model wrote it. */
  begunByModel(from = 0): string {
    const { text, annotations } = this.#begun;
    let own = '';
    let taken = from;
    for (const [start, marked] of Map.groupBy(annotations, ({ start_index }) => start_index)) {
      if (start < from || text[start] !== '[') continue;
      own += `${text.slice(taken, start)}[${marked.map(({ source_id }) => source_id).join(', ')}]`;
      taken = marked[0]?.end_index ?? taken;
    }
    return own + text.slice(taken);
  }

  /** What is ready for the client with this delta of the model. */
  push(delta: string): CitedText {
    return joined([...this.pushInSteps(delta)]);
  }

  /** The same in steps that hold one source against a claim at most; see `citedInSlices`. */
  *pushInSteps(delta: string): Generator<CitedText> {
    if (!this.#charts) yield* this.#cite(this.#scanner.push(delta));
    else yield* this.#write(this.#charts.filter.push(delta), this.#charts.evidence);
  }

  /** Whether this delta may end a citation, whose check takes longer than reading does. */
  mayCite(delta: string): boolean {
    if (!this.#claims || this.#sources.size === 0) return false;
    return this.#charts !== undefined || this.#scanner.isHolding || /[[【［]|:\/\//.test(delta);
  }

  /** What was held back: a paragraph, or all of it, ends here. */
  end(): CitedText {
    return joined([...this.endInSteps()]);
  }

  /** The same in steps. */
  *endInSteps(): Generator<CitedText> {
    if (this.#charts) yield* this.#write(this.#charts.filter.end(), this.#charts.evidence);
    yield* this.#cite(this.#scanner.end());
  }

  /** A text that is shown in one piece, as its reader gets it. */
  async whole(text: string): Promise<CitedText> {
    return await citedInSlices(this.#inPieces(text));
  }

  *#inPieces(text: string): Generator<CitedText> {
    for (const piece of piecesOf(text)) yield* this.pushInSteps(piece);
    yield* this.endInSteps();
  }

  /** Text that cites nothing, as it is. */
  pass(text: string): CitedText {
    return joined([...this.#cite([{ type: 'text', text }])]);
  }

  /** Text and charts as the client reads them. */
  *#write(parts: readonly ChartPart[], evidence: ChartEvidence): Generator<CitedText> {
    for (const part of parts) {
      if (part.type === 'text') yield* this.#cite(this.#scanner.push(part.text));
      else yield* this.#draw(part.block, evidence);
    }
  }

  /** A chart, or what stands in its place. A claim does not begin before it and end behind it. */
  *#draw(block: string, evidence: ChartEvidence): Generator<CitedText> {
    let whole = this.#tail;
    for (const cited of this.#cite(this.#scanner.push(writeChart(block, { evidence, before: whole })))) {
      whole += cited.text;
      yield cited;
    }
    this.#tail = behindCharts(whole).slice(-LONGEST_CLAIM);
  }

  *#cite(parts: readonly AnswerPart[]): Generator<CitedText> {
    yield { ...this.#owed, text: '' };
    this.#owed = nothing();
    for (const part of parts) {
      const cited = nothing();
      cited.text = part.type === 'marker' ? yield* this.#marker(part, cited) : this.#shown(part);
      if (part.type === 'url') cited.annotations.push(yield* this.#address(part.text));
      this.#length += cited.text.length;
      this.#tail += cited.text;
      if (this.#tail.length > 4 * LONGEST_CLAIM) this.#tail = this.#tail.slice(-LONGEST_CLAIM);
      yield cited;
    }
  }

  /**
   * A part as the client reads it. A space keeps a mark from being one: an escape could be taken for the end of an
   * address before it, and is not read as one in plain text.
   */
  #shown(part: AnswerPart): string {
    if (part.type !== 'mark' || this.#isReading) return part.text;
    return spaced(part.text);
  }

  /** The marker as the client reads it, once each of its sources was held against its claim. */
  *#marker(
    { text, numbers }: { text: string; numbers: readonly number[] },
    cited: CitedText,
  ): Generator<CitedText, string> {
    const sources = numbers.map((number) => this.#sources.byId(number)).filter((source) => source !== undefined);
    cited.unknown.push(...numbers.filter((number) => !this.#sources.byId(number)));
    const places = sources.map((source) => ({ source, index: this.#numberOf(source) }));
    const shown = places.map(({ index }) => index).join(', ');
    const numbered = sources.length === 0 ? NO_SOURCE : `[${shown}]`;
    const own = this.#keepsNumbers === 'in_brackets' ? `[${numbers.join(', ')}]` : text;
    const marker = this.#keepsNumbers ? own : numbered;
    const range = { start_index: this.#length, end_index: this.#length + marker.length };
    for (const { source, index } of places) {
      cited.annotations.push(citation(range, { source, index }, yield* this.#supportOf(source)));
      yield nothing();
    }
    return marker;
  }

  #numberOf({ id }: Source): number {
    if (this.#keepsNumbers) return id;
    const number = this.#numbers.get(id) ?? this.#numbers.size + 1;
    this.#numbers.set(id, number);
    return number;
  }

  /** An address that stands in the text itself; it takes no number of its own. */
  *#address(url: string): Generator<CitedText, UrlCitation> {
    const range = { start_index: this.#length, end_index: this.#length + url.length };
    const source = this.#sources.byUrl(url);
    if (!source) {
      return {
        type: 'url_citation',
        ...range,
        url,
        title: '',
        index: null,
        source_id: null,
        verified: false,
        ...UNSEEN,
      };
    }
    const index = this.#keepsNumbers ? source.id : (this.#numbers.get(source.id) ?? null);
    return { ...citation(range, { source, index }, yield* this.#supportOf(source)), url };
  }

  /** How the source carries what stands before a marker. What was begun is not checked again: the log says how it stood. */
  *#supportOf(source: Source): Generator<CitedText, Support> {
    if (this.#isReading || !this.#claims) return UNCHECKED;
    for (const _ of this.#claims.opening([source])) yield nothing();
    return this.#claims.check(this.#tail, source);
  }

  /** Takes up an answer where the log has it: only what state the text leaves behind counts. */
  #read({ text, annotations }: BegunAnswer): void {
    this.#isReading = true;
    const told = new Set(annotations.map(({ start_index }) => start_index));
    const parts = [...this.#scanner.push(text), ...this.#scanner.end()];
    let at = 0;
    for (const part of parts) {
      // The text of a link that was kept from being one, or whose address was held back, looks like a marker.
      const isOfLink = /^(?: [(:]|$)/.test(text.slice(at + part.text.length, at + part.text.length + 2));
      if (part.type === 'marker' && !told.has(at) && !isOfLink) this.#keepsNumbers = 'as_written';
      at += part.text.length;
    }
    if (this.#keepsNumbers) this.#owed = joined([...this.#cite(parts)]);
    this.#length = text.length;
    this.#tail = (this.#charts ? behindCharts(text) : text).slice(-LONGEST_CLAIM);
    this.#isReading = false;
  }
}

function nothing(): CitedText {
  return { text: '', annotations: [], unknown: [] };
}

function joined(texts: readonly CitedText[]): CitedText {
  return {
    text: texts.map(({ text }) => text).join(''),
    annotations: texts.flatMap(({ annotations }) => annotations),
    unknown: texts.flatMap(({ unknown }) => unknown),
  };
}

/** Takes the steps of a text, in slices between which everything else has its turn. */
export async function citedInSlices(steps: Iterable<CitedText>): Promise<CitedText> {
  const all: CitedText[] = [];
  await inSlices(steps, (step) => void all.push(step), { stepsALook: 1 });
  return joined(all);
}

/**
 * The citations of a JSON answer: only what its strings say can cite, names of fields do not. Numbers run
 * through all of it. `keepNumbers`: markers stay as they are.
 */
export async function citeJson(text: string, sources: SourceRegistry, options: CitingOptions = {}): Promise<CitedText> {
  return await citedInSlices(jsonSteps(text, new CitedAnswer(sources, undefined, options)));
}

function* jsonSteps(text: string, answer: CitedAnswer): Generator<CitedText> {
  let taken = 0;
  for (const { index, 0: string, groups } of text.matchAll(/"(?:[^"\\]|\\.)*"(?<name>\s*:)?/g)) {
    if (groups?.name !== undefined) continue;
    yield answer.pass(text.slice(taken, index));
    yield* answer.pushInSteps(string);
    yield* answer.endInSteps();
    taken = index + string.length;
  }
  yield answer.pass(text.slice(taken));
}
