import { percentDecode } from '../../base/text.ts';
import { ToolError } from '../tool.ts';

const SCHEME = 'corpus:';

/** Whether a URL names a document of the local corpus. */
export function isCorpusUrl(url: string): boolean {
  return url.slice(0, SCHEME.length).toLowerCase() === SCHEME;
}

/** The URL of a document: `corpus:///<relative path>`, with each segment percent-encoded (docs/research.md, "Tools"). */
export function corpusUrl(relativePath: string): string {
  return `${SCHEME}///${relativePath.split('/').map(encodeURIComponent).join('/')}`;
}

/**
 * The relative path in a corpus URL. Query and fragment are dropped.
 * @throws ToolError `not_found` for a path that could leave the folder or name a hidden file.
 */
export function corpusPath(url: string): string {
  const path = url
    .slice(SCHEME.length)
    .replace(/[?#].*$/s, '')
    .replace(/^\/+/, '');
  const parts = path.split('/').map(percentDecode);
  const isPlain = parts.every(
    (part) => part !== undefined && part !== '' && !part.startsWith('.') && !/[/\\\0:]/.test(part),
  );
  if (!isPlain) throw noSuchDocument(url);
  return parts.join('/');
}

/** The error for every corpus URL that cannot be read, whatever the reason. */
export function noSuchDocument(url: string): ToolError {
  return new ToolError('not_found', `The corpus has no document ${url.slice(0, 200)}.`);
}
