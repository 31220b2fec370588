import { GatewayError } from '../base/errors.ts';
import { collapseSpaces, percentDecode } from '../base/text.ts';
import { ToolError } from './tool.ts';

/** A file of the run's user, as the tools read it. Dispose it once its bytes are no longer needed. */
export interface AttachedFile extends Disposable {
  name: string;
  bytes: Uint8Array;
  /** Its media type; empty if its sender named none. */
  type: string;
  /** Unix milliseconds. */
  createdAt: number;
}

/** Reads one of the user's files by its id, waiting its turn; undefined if the user has no such file. */
export type ReadFile = (id: string, signal: AbortSignal) => Promise<AttachedFile | undefined>;

const FILE_URL = /^file:\/\/\/(file-[\da-f-]{36})(?:\/|$)/i;

/** Whether a URL uses the scheme of users' files. */
export function isFileUrl(url: string): boolean {
  return /^file:/i.test(url);
}

/** The id of the file that a URL names. */
export function fileIdIn(url: string): string | undefined {
  return FILE_URL.exec(url)?.[1]?.toLowerCase();
}

/** A document attached to an input, as the model sees it. */
export interface AttachedDocument {
  name: string;
  url: string;
  /** Whether its text is in the input; if not, the model searches and opens it. */
  isWhole: boolean;
}

const HEAD = 'Attached document: ';
const TOO_LONG = 'It is too long to be shown here: ';
const ATTACHED = new RegExp(`^${HEAD}(.{1,255})\\nAddress: (\\S{1,4000})\\n(${TOO_LONG})?`, 'gm');

/** The input part that represents a document; `text` is undefined if it is too long for the input. */
export function attachedDocumentText(
  { name, url }: Pick<AttachedDocument, 'name' | 'url'>,
  text: string | undefined,
): string {
  const head = `${HEAD}${collapseSpaces(name).slice(0, 255)}\nAddress: ${url}\n`;
  if (text !== undefined) return head + text;
  const advice = isFileUrl(url)
    ? 'search it with file_search, or open it with fetch_url_content'
    : 'open it with fetch_url_content';
  return `${head}${TOO_LONG}${advice}.`;
}

/** Whether a part of a message represents an attached document. */
export function isAttachedDocument(part: string): boolean {
  return part.startsWith(HEAD);
}

/**
 * The attached documents in a text. Runs find theirs this way, whichever API the conversation came through. What a document
 * says of others does not count.
 */
export function attachedDocumentsIn(text: string): AttachedDocument[] {
  return [...withoutFenced(text).matchAll(ATTACHED)].map(([, name = '', url = '', tooLong]) => ({
    name,
    url,
    isWhole: tooLong === undefined,
  }));
}

const FENCE = { start: '<tool_result>\n', end: '\n</tool_result>' };

/** A text without what `fenceWithoutNonce` has fenced; the fenced text has no such tags. */
function withoutFenced(text: string): string {
  const pieces = text.split(FENCE.end);
  const last = pieces.pop() ?? '';
  const before = pieces.map((piece) => {
    const at = piece.lastIndexOf(FENCE.start);
    return at === -1 ? piece : piece.slice(0, at);
  });
  return [...before, last].join('\n');
}

/** A place in a document. */
export interface PlaceInFile {
  page?: number | undefined;
  /** The headings above it. */
  section?: string | undefined;
}

/** The URL of a file, or of a place in it: two pages of one file are two sources. The path ends with the file's name. */
export function fileUrl(id: string, name: string, { page, section }: PlaceInFile = {}): string {
  const url = `file:///${id}/${encodeURIComponent(name)}`;
  if (page !== undefined) return `${url}?page=${page}`;
  return section ? `${url}?section=${encodeURIComponent(section)}` : url;
}

/** Splits a URL made by `fileUrl` into the file and the place in it. Any other URL is returned unchanged. */
export function parseFileUrl(url: string): { url: string } & PlaceInFile {
  if (!url.startsWith('file:')) return { url };
  const [file = '', name, value] = url.split(/\?(page|section)=/);
  if (value === undefined) return { url };
  if (name === 'page') return /^\d{1,9}$/.test(value) ? { url: file, page: Number(value) } : { url };
  const section = percentDecode(value);
  return section === undefined ? { url } : { url: file, section };
}

/** @throws ToolError `invalid_url` for any other address, `not_found` if this user has no such file, `busy` if it cannot be read now. */
export async function readAttachedFile(
  url: string,
  { readFile, signal }: { readFile?: ReadFile | undefined; signal: AbortSignal },
): Promise<AttachedFile> {
  const id = fileIdIn(url);
  if (id === undefined) throw new ToolError('invalid_url', 'file:// addresses are those of attached files only.');
  const file = await readFile?.(id, signal).catch((thrown: unknown) => {
    if (!(thrown instanceof GatewayError)) throw thrown;
    throw new ToolError(thrown.code === 'not_found' ? 'not_found' : 'busy', thrown.message, { cause: thrown });
  });
  if (!file) throw new ToolError('not_found', `There is no file ${url.slice(0, 200)}.`);
  return file;
}
