import { documentType } from '../tools/corpus/corpus.ts';

/** Names of text files that are plain text, whatever their content looks like. */
const CODE =
  /\.(?:[cm]?[jt]sx?|vue|svelte|astro|php|py|rb|go|rs|java|kt|scala|swift|cs|c|cc|cpp|h|hpp|sh|bash|ps1|sql|tex|bib|css|scss|ya?ml|toml|ini|conf|log|rst|adoc|org|r|pl|lua|diff|patch)$/i;
/** Types that are specific about a text. */
const SPECIFIC_TYPE = /^text\/(?!plain)|[/+](?:json|xml|pdf|rtf)\b|^application\/(?:epub|vnd\.o)/;

/**
 * The media type of a file; derived from its name unless its sender named a specific type: many send no type, and some
 * take `.ts` for a video and `.csv` for a workbook. The charset stays.
 */
export function fileTypeOf(name: string, type: string): string {
  if (SPECIFIC_TYPE.test(type)) return type;
  const named = textTypeOf(name);
  return named === undefined ? type : type.replace(/^[^;]*/, named);
}

function textTypeOf(name: string): string | undefined {
  if (CODE.test(name)) return 'text/plain';
  if (/\.(tsv|tab)$/i.test(name)) return 'text/tab-separated-values';
  const named = documentType(name);
  return named?.startsWith('text/') ? named : undefined;
}
