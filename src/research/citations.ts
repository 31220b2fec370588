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
  const unopened = { ')': excess(raw, '(', ')'), ']': excess(raw, '[', ']') };
  let end = raw.length;
  for (; end > 0; end--) {
    const last = raw[end - 1] ?? '';
    if (last === ')' || last === ']') {
      if (unopened[last]-- <= 0) break;
    } else if (!/[.,;:!?*_~|\\}”’»]/.test(last)) break;
  }
  return raw.slice(0, end);
}

/** How many more closing brackets than opening ones a text has. */
function excess(text: string, open: string, close: string): number {
  return text.split(close).length - text.split(open).length;
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
