import type { UrlCitation } from '../../protocol/items.ts';
import { parseFileUrl } from '../../tools/attached-file.ts';
import type { Support } from '../claims/claim-checker.ts';
import type { Source } from '../run/sources.ts';

/** The citation of a source for a range of an answer (docs/research.md, "Sources and citations"). */
export function citation(
  range: { start_index: number; end_index: number },
  { source, index }: { source: Source; index: number | null },
  support: Support,
): UrlCitation {
  return {
    type: 'url_citation',
    ...range,
    ...parseFileUrl(source.url),
    title: source.title,
    index,
    source_id: source.id,
    verified: source.unreadable !== true,
    ...support,
  };
}
