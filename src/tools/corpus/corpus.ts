import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, realpath } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { corpusPath, noSuchDocument } from './corpus-url.ts';

/** The types of the documents in a corpus, by file extension. */
const TYPES: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.markdown': 'text/markdown',
  '.html': 'text/html',
  '.htm': 'text/html',
  '.xhtml': 'text/html',
  '.txt': 'text/plain',
  '.text': 'text/plain',
  '.csv': 'text/csv',
  '.pdf': 'application/pdf',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.odt': 'application/vnd.oasis.opendocument.text',
  '.ods': 'application/vnd.oasis.opendocument.spreadsheet',
  '.odp': 'application/vnd.oasis.opendocument.presentation',
  '.epub': 'application/epub+zip',
  '.rtf': 'application/rtf',
};

/** Limits of a corpus: files beyond them are not part of it. */
const MAX_FILES = 200_000;
const MAX_DEPTH = 16;
const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** A document's place and version in the file system. */
export interface CorpusFile {
  /** Relative to the folder, with `/` between the segments. */
  path: string;
  /** Changes whenever the file does: made of size, times and inode. */
  signature: string;
}

/** A document with its bytes. */
export interface CorpusDocument {
  path: string;
  contentType: string;
  bytes: Uint8Array;
  /** Unix milliseconds of the last change. */
  modifiedAt: number;
}

/** The content type of a document by its name; undefined if files of this type are no documents. */
export function documentType(path: string): string | undefined {
  return TYPES[extname(path).toLowerCase()];
}

/**
 * Lists all documents below `folder`, in the order of their paths. Hidden files, `node_modules` and symbolic links are left
 * out: a link may lead out of the folder.
 * @throws The file system's error if the folder itself cannot be read.
 */
export async function listDocuments(folder: string, options: { signal?: AbortSignal } = {}): Promise<CorpusFile[]> {
  const root = await realpath(folder);
  const files: CorpusFile[] = [];
  async function walk(relative: string, depth: number): Promise<void> {
    const entries = await readdir(join(root, relative), { withFileTypes: true }).catch((error: unknown) => {
      if (depth === 0) throw error;
      return [];
    });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      options.signal?.throwIfAborted();
      if (files.length >= MAX_FILES) return;
      const path = relative === '' ? entry.name : `${relative}/${entry.name}`;
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      if (entry.isDirectory() && depth < MAX_DEPTH) await walk(path, depth + 1);
      else if (entry.isFile() && documentType(entry.name)) {
        const signature = await signatureOf(join(root, path));
        if (signature) files.push({ path, signature });
      }
    }
  }
  await walk('', 0);
  return files;
}

async function signatureOf(file: string): Promise<string | undefined> {
  const found = await lstat(file, { bigint: true }).catch(() => undefined);
  if (!found?.isFile() || found.size > MAX_FILE_BYTES) return undefined;
  return `${found.size}-${found.mtimeNs}-${found.ctimeNs}-${found.ino}`;
}

/**
 * Reads a document by its `corpus:///` URL. The path cannot leave the folder, neither by `..` nor by links.
 * @throws ToolError `not_found`.
 */
export async function readDocument(folder: string, url: string): Promise<CorpusDocument> {
  const path = corpusPath(url);
  const contentType = documentType(path);
  if (!contentType) throw noSuchDocument(url);
  const root = await realpath(folder).catch(() => undefined);
  if (root === undefined) throw noSuchDocument(url);
  const file = join(root, path);
  // A link anywhere in the path changes the real path.
  const real = await realpath(file).catch(() => undefined);
  if (real !== file) throw noSuchDocument(url);
  // The file is checked before it is opened, because opening a device may have effects. O_NONBLOCK keeps a pipe that
  // takes the file's place in between from blocking the thread until somebody writes to it.
  if (!(await lstat(file).catch(() => undefined))?.isFile()) throw noSuchDocument(url);
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(file, flags).catch(() => undefined);
  if (!handle) throw noSuchDocument(url);
  try {
    return { path, contentType, ...(await readBounded(handle, url)) };
  } finally {
    await handle.close();
  }
}

async function readBounded(handle: FileHandle, url: string): Promise<{ bytes: Uint8Array; modifiedAt: number }> {
  const { size, mtimeMs, ...rest } = await handle.stat();
  const isFile = (rest.mode & constants.S_IFMT) === constants.S_IFREG;
  if (!isFile || size > MAX_FILE_BYTES) throw noSuchDocument(url);
  // Reads no more than the size just seen: a log that grows while it is read has no end.
  const bytes = new Uint8Array(size);
  let length = 0;
  for (let read = 1; read > 0 && length < size; length += read) {
    read = (await handle.read(bytes, length, size - length, length)).bytesRead;
  }
  return { bytes: bytes.subarray(0, length), modifiedAt: Math.round(mtimeMs) };
}
