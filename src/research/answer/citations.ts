import type { UrlCitation } from '../../protocol/items.ts';
import type { Source, SourceRegistry } from '../run/sources.ts';
import { codeSpans, type Span } from './code-spans.ts';
import { urlIn } from './url-in-text.ts';

/**
 * Finds what an answer cites: `[n]` markers (also `[1, 2]`, `[1-3]`, `【1】`) and URLs. Ranges count UTF-16 code units,
 * as JavaScript strings do (contract section 3.3). A marker without a source is reported, not annotated. What stands in
 * code is no citation, but for a URL that is all of it. `json`: the answer is a JSON value, only its strings can cite.
 */
export function findCitations(
  text: string,
  sources: SourceRegistry,
  options: { json?: boolean } = {},
): { annotations: UrlCitation[]; unknownMarkers: number[] } {
  const annotations: UrlCitation[] = [];
  const unknownMarkers: number[] = [];
  const counts = options.json ? inJsonStrings(text) : outsideCode(text);
  for (const match of text.matchAll(CITATION)) {
    const start = match.index;
    const numbers = match.groups?.numbers;
    const end = start + match[0].length;
    if (numbers === undefined) {
      const url = urlIn(match[0], sources);
      const range = { start, end: start + url.length };
      if (URL.canParse(url) && counts(range, 'url')) annotations.push(urlCitation(range, url, sources.byUrl(url)));
      continue;
    }
    if (!counts({ start, end }, 'marker')) continue;
    for (const number of numbersIn(numbers)) {
      const source = sources.byId(number);
      if (source) annotations.push(urlCitation({ start, end }, source.url, source));
      else if (number <= MOST_LIKELY) unknownMarkers.push(number);
    }
  }
  return { annotations, unknownMarkers };
}

/** A number in brackets above this, without a source, is a year or something else. */
const MOST_LIKELY = 999;
/** A range of more numbers is none. */
const WIDEST_RANGE = 20;

/**
 * A marker that is not followed by `(`, which makes it a Markdown link, or a URL up to what cannot stand in one. Markers
 * may name what they number, as models do: `[source_id: 3]`, `[^3]`, `【3†L10-L12】`.
 */
const CITATION = new RegExp(
  String.raw`[[【［](?:source(?:_id|s)?[ :#]*|ref[ .:#]*|\^)?(?<numbers>\d{1,4}(?:\s*[,;、，–-]\s*\d{1,4})*)(?:†[^\]】］\n]{0,60})?[\]】］](?!\()` +
    String.raw`|(?<![a-z])(?:https?|corpus):\/\/[^\s<>"\x60|\\^{}\u3000-\u303f\uff00-\uffef]+`,
  'gi',
);

function numbersIn(marker: string): number[] {
  return marker.split(/[,;、，]/).flatMap((part) => {
    const [first = 0, last = first] = part.split(/[–-]/).map(Number);
    if (last < first || last - first > WIDEST_RANGE) return [first, last];
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

type Counts = (range: Span, kind: 'marker' | 'url') => boolean;

function outsideCode(text: string): Counts {
  const { blocks, inline } = codeSpans(text);
  const inBlock = covered(blocks);
  const inCode = covered(inline);
  return (range, kind) => {
    if (inBlock(range)) return false;
    const code = inCode(range);
    if (!code) return true;
    const rest = text.slice(code.start, range.start) + text.slice(range.end, code.end);
    return kind === 'url' && /^[`\s<>]*$/.test(rest);
  };
}

function inJsonStrings(text: string): Counts {
  const strings = [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(({ index, 0: match }) => ({
    start: index,
    end: index + match.length,
  }));
  const inString = covered(strings);
  return (range) => inString(range) !== undefined;
}

/** Tells which of the spans, in order, a range lies in. Ranges are asked for in order, too. */
function covered(spans: readonly Span[]): (range: Span) => Span | undefined {
  const sorted = spans.toSorted((a, b) => a.start - b.start);
  let next = 0;
  return (range) => {
    while (next < sorted.length && (sorted[next]?.end ?? 0) <= range.start) next++;
    const span = sorted[next];
    return span && span.start <= range.start ? span : undefined;
  };
}

function urlCitation(range: Span, url: string, source: Source | undefined): UrlCitation {
  return {
    type: 'url_citation',
    start_index: range.start,
    end_index: range.end,
    url,
    title: source?.title ?? '',
    index: source?.id ?? null,
    source_id: source?.id ?? null,
    verified: source !== undefined,
  };
}
