import { isObject, type JsonObject } from '../../base/json.ts';
import { answerPart, type UrlCitation } from '../../protocol/items.ts';
import type { Claims, ResponseObject, Usage } from '../../protocol/response.ts';
import { sourceDates } from './source-dates.ts';

/** A source as a report lists it. */
export interface ReportSource {
  /** The number in the text; null for a URL that appears in the text itself. */
  number: number | null;
  url: string;
  title: string;
  /** Whether the run read it or saw it in a search. */
  verified: boolean;
  /** When it was published, if a tool reported that. */
  date?: string;
  /** The passages that sentences of the report rest on, each once. */
  quotes: string[];
}

/** One source that a marker cites. */
export interface Citation {
  source: number;
  /** The passage of the source that supports the text before the marker; null if none is known. */
  quote: string | null;
  /** Whether the check of claims found a part of that text in the source, or nothing. */
  isDoubted: boolean;
}

/** A finished run as a document (docs/api.md, "The report as a document"). */
export interface Report {
  title: string;
  /** The question; empty if it is the title. */
  question: string;
  /** The question, even if it is the title. */
  fullQuestion: string;
  /** Markdown, without the heading that became the title. */
  text: string;
  /** Ranges of `text` that cite sources, in UTF-16 code units, in the order of the text. */
  markers: { start: number; end: number; citations: Citation[] }[];
  /** Whether `vega-lite` blocks of the text are charts. */
  charts: boolean;
  sources: ReportSource[];
  model: string;
  /** Unix seconds of its end. */
  endedAt: number;
  /** What readers should know about the report: that it is cut, failed, has no sources, or more than they say. */
  notes: string[];
  claims: Claims | null;
  usage: Usage;
}

/** The maximum length of a title, in characters. */
const TITLE_LENGTH = 140;
const HEADING = /^\s*#[ \t]+([^\n]+)\n*/;

/** The report of an ended run, from its response object and input. Undefined if the run wrote no text. */
export function reportOf(response: ResponseObject, input: readonly JsonObject[]): Report | undefined {
  const part = answerOf(response);
  if (part.text.trim() === '') return undefined;
  const question = questionIn(input);
  const heading = HEADING.exec(part.text);
  const headingLength = heading?.[0].length ?? 0;
  const title = shorten(plain(heading?.[1] ?? question) || 'Report');
  const annotations = part.annotations.filter((annotation) => annotation.start_index >= headingLength);
  return {
    title,
    question: question === title ? '' : question,
    fullQuestion: question,
    text: part.text.slice(headingLength),
    markers: markersIn(part.text, annotations).map(({ start, end, citations }) => ({
      start: start - headingLength,
      end: end - headingLength,
      citations,
    })),
    charts: response.charts === true,
    sources: sourcesIn(part.annotations, sourceDates(response.output)),
    model: response.model,
    endedAt: response.completed_at ?? response.created_at,
    notes: notesOn(response),
    claims: response.claims,
    usage: response.usage,
  };
}

export function answerOf(response: Pick<ResponseObject, 'output' | 'output_text'>): {
  text: string;
  annotations: readonly UrlCitation[];
} {
  // Notes come before the answer, as messages of their own.
  const message = response.output.findLast((item) => item.type === 'message');
  return answerPart(message) ?? { text: response.output_text, annotations: [] };
}

/** The citation markers of a text. A marker that names several sources has one annotation for each, with the same range. */
function markersIn(text: string, annotations: readonly UrlCitation[]): Report['markers'] {
  const markers: Report['markers'] = [];
  for (const annotation of annotations) {
    const { start_index: start, end_index: end } = annotation;
    const number = annotation.index;
    if (number === null || !/^[[【]/.test(text.slice(start, end))) continue;
    const last = markers.at(-1);
    const isDoubted = annotation.support === 'partial' || annotation.support === 'none';
    const citation = { source: number, quote: annotation.cited_text, isDoubted };
    if (last?.start === start) last.citations.push(citation);
    else if (last === undefined || start >= last.end) markers.push({ start, end, citations: [citation] });
  }
  return markers;
}

/** Each source once: the numbered ones in order, then URLs that appear in the text. */
function sourcesIn(annotations: readonly UrlCitation[], dates: ReadonlyMap<number, string>): ReportSource[] {
  const sources = new Map<string, Omit<ReportSource, 'quotes'> & { quotes: Set<string> }>();
  for (const annotation of annotations) {
    const { url, title, verified } = annotation;
    const number = annotation.index;
    const id = number === null ? url : String(number);
    const date = dates.get(annotation.source_id ?? 0);
    const known = sources.get(id) ?? {
      ...{ number, url, title: plain(title) || url, verified },
      ...(date !== undefined && { date }),
      quotes: new Set<string>(),
    };
    sources.set(id, known);
    if (annotation.cited_text !== null) known.quotes.add(annotation.cited_text);
  }
  const order = ({ number }: { number: number | null }) => number ?? Number.POSITIVE_INFINITY;
  return [...sources.values()]
    .map((source) => ({ ...source, quotes: [...source.quotes] }))
    .sort((a, b) => (order(a) === order(b) ? 0 : order(a) - order(b)));
}

const NOTE_OF_REASON: Readonly<Record<string, string>> = {
  max_output_tokens: 'The text was cut at its maximum length.',
  max_tool_calls: 'The research ended at its maximum number of tool calls.',
  budget: 'The research ended with its budget; the report is written from what was found until then.',
  stuck: 'The research did not get further; the report is written from what was found until then.',
  no_sources: 'Nothing could be retrieved: this report rests on no source.',
};

function notesOn(response: ResponseObject): string[] {
  const notes: string[] = [];
  if (response.status === 'cancelled') notes.push('The run was cancelled; the text is incomplete.');
  if (response.status === 'failed') {
    notes.push(`The run failed; the text is incomplete. ${response.error?.message ?? ''}`.trim());
  }
  const reason = response.incomplete_details?.reason;
  if (reason) notes.push(NOTE_OF_REASON[reason] ?? `The report is incomplete (${reason}).`);
  const { checked = 0, partial = 0, none = 0 } = response.claims ?? {};
  const doubted = partial + none;
  if (doubted > 0) notes.push(`${doubted} of ${checked} checked sentences may say more than their sources.`);
  return notes;
}

/** The text of the last user message among input items. */
function questionIn(input: readonly JsonObject[]): string {
  const message = input.findLast((item) => item.role === 'user');
  const { content } = message ?? {};
  if (typeof content === 'string') return content.trim();
  if (!Array.isArray(content)) return '';
  const parts = content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''));
  return parts
    .filter((text) => text !== '')
    .join('\n')
    .trim();
}

/** Characters that change the direction of the text after them. */
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text on one line without Markdown syntax. */
function plain(text: string): string {
  return text
    .replace(BIDI_CONTROLS, '')
    .replace(/[`*_#]+/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function shorten(text: string): string {
  const letters = [...text];
  return letters.length > TITLE_LENGTH
    ? `${letters
        .slice(0, TITLE_LENGTH - 1)
        .join('')
        .trimEnd()}…`
    : text;
}
