import { isObject, parseJson } from '../../base/json.ts';
import { inSlices } from '../../base/load/event-loop.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { ChartEvidence } from '../charts/chart-evidence.ts';
import { ChartFilter, type ChartPart } from '../charts/chart-filter.ts';
import { behindCharts, writeChart } from '../charts/write-chart.ts';
import { type ClaimChecker, type Support, UNCHECKED } from '../claims/claim-checker.ts';
import { isStatement, LONGEST_CLAIM } from '../claims/sentences.ts';
import { splitDelta } from '../run/live-steps.ts';
import type { Source, SourceRegistry } from '../run/sources.ts';
import { urlIn } from '../text/url-in-text.ts';
import { type AnswerPart, AnswerScanner } from './answer-scanner.ts';
import { citation } from './citation.ts';
import { type PartialAnswer, renumbered } from './earlier-answer.ts';
import type { MayShow } from './safe-markup.ts';
import { disarmMark } from './visible-reasoning.ts';

/** A piece of the answer as the client reads it. */
export interface CitedText {
  text: string;
  /** The citations that it completes, in the order of the text. */
  annotations: UrlCitation[];
  /** Cited numbers that belong to no source. */
  unknown: number[];
}

interface CiteOptions {
  /** Markers keep the model's numbers: exactly as written, or normalised to `[1, 2]`. By default they are renumbered. */
  keepNumbers?: 'as_written' | 'in_brackets';
  mayShow?: MayShow;
  /** Checks claims against the cited sources; without it nothing is checked. */
  claims?: ClaimChecker | undefined;
  /** The evidence that charts may use; without it a chart block is ordinary code. */
  charts?: ChartEvidence | undefined;
}

/** The support of a URL that the run never saw. */
const UNSEEN: Support = { cited_text: null, support: 'none' };

/** Replaces a marker that belongs to no source. */
const NO_SOURCE = '[?]';

/**
 * Turns the model's answer into the text that the client reads (docs/research.md, "Sources and citations"). While it
 * streams, markers are renumbered 1, 2, 3 in the order of their first use, and citations come as soon as they are
 * complete. The model keeps its own numbers. All of the state can be rebuilt from the log, so an answer continues
 * after a crash the way it started.
 */
export class CitedAnswer {
  readonly #sources: SourceRegistry;
  readonly #scanner: AnswerScanner;
  /** Numbers in the text by source id. */
  readonly #numbers = new Map<number, number>();
  readonly #partial: PartialAnswer;
  readonly #claims: ClaimChecker | undefined;
  readonly #charts: { evidence: ChartEvidence; filter: ChartFilter } | undefined;
  /** The end of the text so far: it contains the claim that the next marker belongs to. */
  #tail = '';
  /** Also set for an answer that an earlier version started: that version did not renumber, so the rest is not either. */
  #keepsNumbers: CiteOptions['keepNumbers'];
  /** Whether the stored start of the answer is being read back. */
  #isReading = false;
  /** Citations of the stored start that the log lacks: earlier versions wrote them at the end. */
  #missing = nothing();
  /** Length of the text so far, in UTF-16 code units. */
  #length = 0;

  constructor(
    sources: SourceRegistry,
    partial: PartialAnswer = { text: '', annotations: [] },
    { keepNumbers, mayShow, claims, charts }: CiteOptions = {},
  ) {
    this.#sources = sources;
    this.#partial = partial;
    this.#keepsNumbers = keepNumbers;
    this.#claims = claims;
    this.#charts = charts && { evidence: charts, filter: new ChartFilter(partial.text) };
    this.#scanner = new AnswerScanner((raw) => urlIn(raw, sources).length, mayShow);
    for (const { index, source_id } of partial.annotations)
      if (index !== null && source_id !== null) this.#numbers.set(source_id, index);
    if (partial.text !== '') this.#read(partial);
  }

  /** Length of what the client has, in UTF-16 code units. */
  get length(): number {
    return this.#length;
  }

  /** The stored start of the answer from an offset on, with the model's own numbers. */
  modelText(from = 0): string {
    return renumbered(this.#partial, (id) => id, from);
  }

  /** What is ready for the client with this delta of the model. */
  push(delta: string): CitedText {
    return joined([...this.pushInSteps(delta)]);
  }

  /** `push` in steps, each of which checks one source at most; see `collectCited`. */
  *pushInSteps(delta: string): Generator<CitedText> {
    if (!this.#charts) yield* this.#cite(this.#scanner.push(delta));
    else yield* this.#write(this.#charts.filter.push(delta), this.#charts.evidence);
  }

  /** Whether this delta may complete a citation, whose check takes much longer than reading. */
  mayCite(delta: string): boolean {
    if (!this.#claims || this.#sources.size === 0) return false;
    return this.#charts !== undefined || this.#scanner.isHolding || /[[【［]|:\/\//.test(delta);
  }

  /** What was held back, at the end of a paragraph or of the answer. */
  end(): CitedText {
    return joined([...this.endInSteps()]);
  }

  *endInSteps(): Generator<CitedText> {
    if (this.#charts) yield* this.#write(this.#charts.filter.end(), this.#charts.evidence);
    yield* this.#cite(this.#scanner.end());
  }

  /** A complete text, as the client reads it. */
  async whole(text: string): Promise<CitedText> {
    return await collectCited(this.#inPieces(text));
  }

  *#inPieces(text: string): Generator<CitedText> {
    for (const piece of splitDelta(text)) yield* this.pushInSteps(piece);
    yield* this.endInSteps();
  }

  /** Adds what is between two values of a JSON answer unchanged. No claim spans it, but the name of a field may be part of one. */
  pass(text: string): CitedText {
    const passed = joined([...this.#cite([{ type: 'text', text }])]);
    this.#tail = FIELD_NAME.exec(text)?.[0] ?? '';
    return passed;
  }

  *#write(parts: readonly ChartPart[], evidence: ChartEvidence): Generator<CitedText> {
    for (const part of parts) {
      if (part.type === 'text') yield* this.#cite(this.#scanner.push(part.text));
      else yield* this.#draw(part.block, evidence);
    }
  }

  /** A chart, or its replacement. No claim spans a chart. */
  *#draw(block: string, evidence: ChartEvidence): Generator<CitedText> {
    let whole = this.#tail;
    for (const cited of this.#cite(this.#scanner.push(writeChart(block, { evidence, before: whole })))) {
      whole += cited.text;
      yield cited;
    }
    this.#tail = behindCharts(whole).slice(-LONGEST_CLAIM);
  }

  *#cite(parts: readonly AnswerPart[]): Generator<CitedText> {
    yield { ...this.#missing, text: '' };
    this.#missing = nothing();
    for (const part of parts) {
      const cited = nothing();
      cited.text = part.type === 'marker' ? yield* this.#marker(part, cited) : this.#textOf(part);
      if (part.type === 'url') cited.annotations.push(yield* this.#address(part.text));
      this.#length += cited.text.length;
      this.#tail += cited.text;
      if (this.#tail.length > 4 * LONGEST_CLAIM) this.#tail = this.#tail.slice(-LONGEST_CLAIM);
      yield cited;
    }
  }

  /**
   * A part as the client reads it. Marks are disarmed by a space: a backslash could be taken for the end of a URL before
   * it, and would be visible in plain text.
   */
  #textOf(part: AnswerPart): string {
    if (part.type !== 'mark' || this.#isReading) return part.text;
    return disarmMark(part.text);
  }

  /** The marker as the client reads it. Its claim is checked against each of its sources. */
  *#marker(
    { text, numbers }: { text: string; numbers: readonly number[] },
    cited: CitedText,
  ): Generator<CitedText, string> {
    const sources = numbers.map((number) => this.#sources.byId(number)).filter((source) => source !== undefined);
    cited.unknown.push(...numbers.filter((number) => !this.#sources.byId(number)));
    const places = sources.map((source) => ({ source, index: this.#numberOf(source) }));
    const indexes = places.map(({ index }) => index).join(', ');
    const numbered = sources.length === 0 ? NO_SOURCE : `[${indexes}]`;
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
    return this.#keepsNumbers ? id : this.#numbers.getOrInsertComputed(id, () => this.#numbers.size + 1);
  }

  /** The citation of a URL in the text itself, which gets no number of its own. */
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

  /** How well the source supports the claim before a marker. The stored start is not checked again: the log has the result. */
  *#supportOf(source: Source): Generator<CitedText, Support> {
    if (this.#isReading || !this.#claims) return UNCHECKED;
    for (const _ of this.#claims.openInSteps([source])) yield nothing();
    return this.#claims.check(saidIn(this.#tail) ?? this.#tail, source);
  }

  /** Restores the state that the stored start of the answer left. */
  #read({ text, annotations }: PartialAnswer): void {
    this.#isReading = true;
    const cited = new Set(annotations.map(({ start_index }) => start_index));
    const parts = [...this.#scanner.push(text), ...this.#scanner.end()];
    let at = 0;
    for (const part of parts) {
      // The text of a disarmed link, or of a link whose URL was still held back, looks like a marker.
      const isOfLink = /^(?: [(:]|$)/.test(text.slice(at + part.text.length, at + part.text.length + 2));
      if (part.type === 'marker' && !cited.has(at) && !isOfLink) this.#keepsNumbers = 'as_written';
      at += part.text.length;
    }
    if (this.#keepsNumbers) this.#missing = joined([...this.#cite(parts)]);
    this.#length = text.length;
    this.#tail = (this.#charts ? behindCharts(text) : text).slice(-LONGEST_CLAIM);
    this.#isReading = false;
  }
}

const FIELD_NAME = /"(?:[^"\\]|\\.)*"\s*:\s*$/;

/** What the start of a string in a JSON answer says, with the name of its field if it is no statement; undefined for other texts. */
function saidIn(tail: string): string | undefined {
  if (!tail.startsWith('"')) return undefined;
  const value = parseJson(`{${tail}"}`) ?? parseJson(`{"":${tail}"}`);
  const [name = '', said] = Object.entries(isObject(value) ? value : {})[0] ?? [];
  if (typeof said !== 'string') return undefined;
  return isStatement(said) ? said : `${name} ${said}`;
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

/** Runs the steps of a text in slices, with pauses for the event loop, and joins their results. */
export async function collectCited(steps: Iterable<CitedText>): Promise<CitedText> {
  const all: CitedText[] = [];
  await inSlices(steps, (step) => void all.push(step), { stepsPerClockRead: 1 });
  return joined(all);
}

/**
 * Cites a JSON answer: only string values can cite, not the names of fields. Numbers run through all of them.
 * `keepNumbers`: markers stay as they are.
 */
export async function citeJson(text: string, sources: SourceRegistry, options: CiteOptions = {}): Promise<CitedText> {
  return await collectCited(jsonSteps(text, new CitedAnswer(sources, undefined, options)));
}

function* jsonSteps(text: string, answer: CitedAnswer): Generator<CitedText> {
  let end = 0;
  for (const { index, 0: string, groups } of text.matchAll(/"(?:[^"\\]|\\.)*"(?<name>\s*:)?/g)) {
    if (groups?.name !== undefined) continue;
    yield answer.pass(text.slice(end, index));
    yield* answer.pushInSteps(string);
    yield* answer.endInSteps();
    end = index + string.length;
  }
  yield answer.pass(text.slice(end));
}
