import type { UrlCitation } from '../protocol/items.ts';
import type { SourceRegistry } from './sources.ts';

/**
 * Finds what an answer cites: `[n]` markers (also `[1, 2]` and 【1】) and URLs. Ranges count UTF-16 code units, as
 * JavaScript strings do (contract section 3.3). A marker without a source is reported, not annotated.
 */
export function findCitations(
  text: string,
  sources: SourceRegistry,
): { annotations: UrlCitation[]; unknownMarkers: number[] } {
  const annotations: UrlCitation[] = [];
  const unknownMarkers: number[] = [];
  for (const match of text.matchAll(CITATION)) {
    const start = match.index;
    const end = start + match[0].length;
    if (match.groups?.numbers !== undefined) {
      for (const number of match.groups.numbers.split(/[,;\s]+/).map(Number)) {
        const source = sources.byId(number);
        if (!source) unknownMarkers.push(number);
        else annotations.push(citation({ start, end, url: source.url, title: source.title, id: source.id }));
      }
      continue;
    }
    const url = trimUrl(match[0]);
    if (!URL.canParse(url)) continue;
    const source = sources.byUrl(url);
    annotations.push(
      citation({ start, end: start + url.length, url, title: source?.title ?? '', id: source?.id ?? null }),
    );
  }
  return { annotations, unknownMarkers };
}

/** `[3]`, `[1, 2]`, `【4】` (not followed by `(`: that is a Markdown link), or a URL. */
const CITATION =
  /(?:\[|【)(?<numbers>\d{1,4}(?:\s*[,;]\s*\d{1,4})*)(?:\]|】)(?!\()|\b(?:https?|corpus):\/\/[^\s<>"'`\u3000-\u303f\uff00-\uffef]+/g;

/** A URL without the punctuation of the sentence around it. A closing bracket belongs to it only if one was opened. */
function trimUrl(raw: string): string {
  let url = raw;
  for (;;) {
    const last = url.at(-1);
    if (last === undefined) return url;
    const unopened = (last === ')' && !balanced(url, '(', ')')) || (last === ']' && !balanced(url, '[', ']'));
    if (!unopened && !/[.,;:!?*_~|\\}]/.test(last)) return url;
    url = url.slice(0, -1);
  }
}

function balanced(text: string, open: string, close: string): boolean {
  return text.split(open).length >= text.split(close).length;
}

function citation(found: { start: number; end: number; url: string; title: string; id: number | null }): UrlCitation {
  return {
    type: 'url_citation',
    start_index: found.start,
    end_index: found.end,
    url: found.url,
    title: found.title,
    source_id: found.id,
    verified: found.id !== null,
  };
}
