import { GatewayError } from '../base/errors.ts';
import { joinSpaces, percentDecoded } from '../base/text.ts';
import { ToolError } from './tool.ts';

/** A file of the user whose run it is, as the tools read it. Dispose it once its bytes are not needed any more. */
export interface AttachedFile extends Disposable {
  name: string;
  bytes: Uint8Array;
  /** Its media type; empty where its sender named none. */
  type: string;
  /** Unix milliseconds. */
  createdAt: number;
}

/** Reads a file of the user by its id, in its turn; undefined where the user has none of it. */
export type ReadFile = (id: string, signal: AbortSignal) => Promise<AttachedFile | undefined>;

const URL_OF_FILE = /^file:\/\/\/(file-[\da-f-]{36})(?:\/|$)/i;

/** Whether a URL names a file of a user. */
export function isFileUrl(url: string): boolean {
  return /^file:/i.test(url);
}

/** The id of the file that a URL names. */
export function fileIdIn(url: string): string | undefined {
  return URL_OF_FILE.exec(url)?.[1]?.toLowerCase();
}

/** A document among the parts of an input, as the model sees it. */
export interface AttachedDocument {
  name: string;
  url: string;
  /** Whether its text is in the input; if not, the model searches and opens it. */
  isWhole: boolean;
}

const HEAD = 'Attached document: ';
const TOO_LONG = 'It is too long to be shown here: ';
const ATTACHED = new RegExp(`^${HEAD}(.{1,255})\\nAddress: (\\S{1,4000})\\n(${TOO_LONG})?`, 'gm');

/** The part that stands for a document: `text` is undefined where it is too long for the input. */
export function attachedText({ name, url }: Pick<AttachedDocument, 'name' | 'url'>, text: string | undefined): string {
  const head = `${HEAD}${joinSpaces(name).slice(0, 255)}\nAddress: ${url}\n`;
  if (text !== undefined) return head + text;
  const how = isFileUrl(url)
    ? 'search it with file_search, or open it with fetch_url_content'
    : 'open it with fetch_url_content';
  return `${head}${TOO_LONG}${how}.`;
}

/** Whether a part of a message stands for a document. */
export function isAttached(part: string): boolean {
  return part.startsWith(HEAD);
}

/** The documents that stand in a text. Runs find theirs so, whichever API the conversation came by. */
export function attachedIn(text: string): AttachedDocument[] {
  return [...text.matchAll(ATTACHED)].map(([, name = '', url = '', long]) => ({
    name,
    url,
    isWhole: long === undefined,
  }));
}

/** Where in a document something stands. */
export interface PlaceInFile {
  page?: number | undefined;
  /** The headings above it. */
  section?: string | undefined;
}

/** The URL of a file, which tells its name, or of a place in it: what stands on two pages are two sources. */
export function fileUrl(id: string, name: string, { page, section }: PlaceInFile = {}): string {
  const url = `file:///${id}/${encodeURIComponent(name)}`;
  if (page !== undefined) return `${url}?page=${page}`;
  return section ? `${url}?section=${encodeURIComponent(section)}` : url;
}

/** The file that a URL of `fileUrl` names, and the place in it. Any other URL is given as it is. */
export function placeIn(url: string): { url: string } & PlaceInFile {
  if (!url.startsWith('file:')) return { url };
  const [file = '', name, value] = url.split(/\?(page|section)=/);
  if (value === undefined) return { url };
  if (name === 'page') return /^\d{1,9}$/.test(value) ? { url: file, page: Number(value) } : { url };
  const section = percentDecoded(value);
  return section === undefined ? { url } : { url: file, section };
}

/** @throws ToolError `invalid_url` for another address, `not_found` for what is no file of this user. */
export async function readAttached(
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
