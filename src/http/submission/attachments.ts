import { linkSignals } from '../../base/abort.ts';
import { fieldError, GatewayError, messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { type Files, type NewFile, publicFileId } from '../../files/files.ts';
import type { InputPart, PlainPart } from '../../protocol/requests/content-parts.ts';
import { fenceWithoutNonce } from '../../research/text/fence.ts';
import type { Caller } from '../../runs/submission.ts';
import type { FileRecord } from '../../store/side-stores/file-store.ts';
import { attachedDocumentText, fileUrl, type ReadFile } from '../../tools/attached-file.ts';
import { ToolError } from '../../tools/tool.ts';
import type { Toolbox } from '../../tools/toolbox.ts';
import { estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { RequestContext } from '../request-context.ts';

/** How long reading one document may take, in milliseconds. */
const READ_MS = 30_000;
const READING = { what: 'reading a file', timeoutMs: READ_MS };
/** The share of the window that one document may fill. The model has to search and open longer ones. */
const WHOLE_SHARE = 0.25;
/** The largest image that is sent to a model, in bytes. */
const MAX_IMAGE = 20 * 1024 * 1024;
/** The largest PDF that is sent to a model; of a larger one it gets the text. */
const MAX_PDF = MAX_IMAGE;
/** The most bytes of files in one request to a model: they are kept in memory and in the store. */
const MAX_SENT = 40 * 1024 * 1024;
const MAX_FILES = 50;

/** How files of a request are stored: see `NewFile`. */
export interface Keeping extends Pick<NewFile, 'keepMs' | 'sealedBy'> {
  /** They are removed if it is refused. */
  context: RequestContext;
}

/** Whose parts they are, and how a model gets them. */
export interface AttachmentContext {
  user: string;
  /** The field with the parts, for errors. */
  place: string;
  /** The parts are from a stored conversation: files that can no longer be read are named instead of refused. */
  isStored: boolean;
  canOpenUrls: boolean;
  /** The model's context window, in tokens. */
  window: number;
  takesPdf: boolean;
  /** The bytes of files sent to the model, over all fields of a request. */
  sent: { bytes: number };
  /** How documents are stored that are read at addresses. */
  keeping: Keeping;
  /** Aborts when nobody waits for the answer any more. */
  signal: AbortSignal;
}

interface AttachmentParts {
  files: Files;
  documents: Pick<Toolbox, 'read'>;
  log: Logger;
}

/** Files and documents in the input of a request (docs/files.md, "In a request"). */
export class Attachments {
  readonly #parts: AttachmentParts;
  readonly #files: Files;
  /** The files that were saved for requests that may still be refused. */
  readonly #saved = new WeakMap<RequestContext, FileRecord[]>();

  constructor(parts: AttachmentParts) {
    this.#parts = parts;
    this.#files = parts.files;
  }

  /**
   * Stores inline data in `items` as files of their own, and replaces it by their ids. Modifies `items`. Call `keep` or
   * `discard` once it is known what becomes of the request.
   * @throws GatewayError `invalid_parameter` for data that is not base64, and as an upload; `not_found` if stored items
   *   refer to unknown files.
   */
  async saveFiles(
    items: unknown,
    { user }: Pick<Caller, 'user'>,
    { field, ...keeping }: Keeping & { field: 'input' | 'messages' | 'items' },
  ): Promise<void> {
    const parts = partsIn(items, field);
    if (parts.length > MAX_FILES) {
      throw fieldError('invalid_parameter', field, `at most ${MAX_FILES} files can be attached.`);
    }
    for (const { part, place } of parts) {
      // Stored items are read much later, so missing files are reported now.
      if (field === 'items' && typeof part.file_id === 'string')
        await this.#files.find(user, part.file_id, `${place}.file_id`);
      if (part.file_id != null || part.file_url != null || typeof part.file_data !== 'string') continue;
      const { bytes, type } = dataOf(part.file_data, `${place}.file_data`);
      const name = typeof part.filename === 'string' ? part.filename : 'file';
      const file = await this.#store(bytes, { user, name, type }, keeping);
      part.file_id = publicFileId(file.id);
      delete part.file_data;
    }
  }

  /** Keeps the files of a request that was accepted. */
  keep(context: RequestContext): void {
    this.#saved.delete(context);
  }

  /** Removes the files of a request that was refused, or answered by an earlier one. Never rejects: they expire anyway. */
  async discard(context: RequestContext): Promise<void> {
    const files = this.#saved.get(context) ?? [];
    this.#saved.delete(context);
    for (const file of files) {
      await this.#files.remove(file).catch((thrown: unknown) => {
        this.#parts.log.warn({ file: file.id, err: messageOf(thrown) }, 'a file of a refused request was not removed');
      });
    }
  }

  /**
   * Parts as they are sent to a model.
   * @throws GatewayError `not_found`, `invalid_parameter` for unreadable files; the signal's reason.
   */
  async resolve(parts: readonly InputPart[], context: AttachmentContext): Promise<PlainPart[]> {
    const resolved: PlainPart[] = [];
    for (const [index, part] of parts.entries()) {
      context.signal.throwIfAborted();
      try {
        resolved.push(await this.#resolvePart(part, { ...context, place: `${context.place}[${index}]` }));
      } catch (thrown) {
        if (!context.isStored || !isRefusal(thrown)) throw thrown;
        resolved.push({ type: 'text', text: '(A file that can no longer be read.)' });
      }
    }
    return resolved;
  }

  async #resolvePart(part: InputPart, context: AttachmentContext): Promise<PlainPart> {
    if (part.type === 'image_file') {
      const { id, type: _, ...detail } = part;
      return { type: 'image', url: await this.#image(id, context), ...detail };
    }
    if (part.type !== 'file') return part;
    return (await this.#pdf(part, context)) ?? { type: 'text', text: await this.#document(part, context) };
  }

  /** A PDF for a model that accepts PDFs; undefined for files whose text has to be extracted here. */
  async #pdf(
    { id }: Extract<InputPart, { type: 'file' }>,
    { user, place, takesPdf, sent, signal }: AttachmentContext,
  ): Promise<PlainPart | undefined> {
    if (!takesPdf || id === undefined) return undefined;
    const file = await this.#files.find(user, id, `${place}.file_id`);
    if (file.bytes > MAX_PDF || sent.bytes + file.bytes > MAX_SENT) return undefined;
    using limited = linkSignals([signal], READING);
    using read = await this.#files.read(file, limited.signal);
    if (read.bytes.toString('latin1', 0, 5) !== '%PDF-') return undefined;
    sent.bytes += file.bytes;
    return { type: 'pdf', name: file.name, url: `data:application/pdf;base64,${read.bytes.toString('base64')}` };
  }

  async #document(
    part: Extract<InputPart, { type: 'file' }>,
    { user, place, canOpenUrls, window, keeping, signal }: AttachmentContext,
  ): Promise<string> {
    const { id, url: address, filename } = part;
    const file = id === undefined ? undefined : await this.#files.find(user, id, `${place}.file_id`);
    const name = file?.name ?? filename ?? address ?? 'file';
    const url = file ? fileUrl(publicFileId(file.id), file.name) : address;
    if (url === undefined) throw fieldError('invalid_parameter', place, 'give one of file_id, file_url and file_data.');
    const readFile: ReadFile = (wanted, signal) => this.#files.readAttached(user, wanted, signal);
    using limited = linkSignals([signal], READING);
    const options = { readFile, signal: limited.signal, log: this.#parts.log };
    const { content } = await this.#parts.documents.read(url, options).catch((thrown: unknown) => {
      signal.throwIfAborted();
      if (!(thrown instanceof ToolError)) throw thrown;
      if (thrown.cause instanceof GatewayError && thrown.cause.code === 'store_unavailable') throw thrown.cause;
      if (thrown.code === 'busy') throw new GatewayError('overloaded', thrown.message, { cause: thrown });
      throw new GatewayError('unsupported_file', `${place}: ${thrown.message}`, { param: place, cause: thrown });
    });
    if (estimateTokens(content) <= window * WHOLE_SHARE)
      return attachedDocumentText({ name, url }, fenceWithoutNonce(content));
    if (file || canOpenUrls) return attachedDocumentText({ name, url }, undefined);
    // The model cannot open the URL, so what was read there is stored as a file.
    const stored = await this.#store(Buffer.from(content), { user, name, type: 'text/markdown' }, keeping);
    return attachedDocumentText({ name, url: fileUrl(publicFileId(stored.id), stored.name) }, undefined);
  }

  async #store(
    bytes: Buffer,
    about: Pick<NewFile, 'user' | 'name' | 'type'>,
    { context, ...kept }: Keeping,
  ): Promise<FileRecord> {
    const file = { ...about, ...kept, purpose: 'user_data' };
    const stored = await this.#files.save(bytes, file, AbortSignal.timeout(READ_MS));
    this.#saved.getOrInsertComputed(context, () => []).push(stored);
    return stored;
  }

  async #image(id: string, { user, sent, place, signal }: AttachmentContext): Promise<string> {
    const file = await this.#files.find(user, id, `${place}.file_id`);
    sent.bytes += file.bytes;
    if (sent.bytes > MAX_SENT)
      throw invalidImage(`${place}.file_id: the files of a request may take 40 MiB together.`, place);
    using limited = linkSignals([signal], READING);
    using read = file.bytes > MAX_IMAGE ? undefined : await this.#files.read(file, limited.signal);
    const type = read && imageType(read.bytes);
    if (!type) throw invalidImage(`${place}.file_id: this is no PNG, JPEG, GIF or WebP image of up to 20 MiB.`, place);
    return `data:${type};base64,${read.bytes.toString('base64')}`;
  }
}

/** Error codes that are about the file itself. Others mean that it cannot be read now, but perhaps later. */
const REFUSALS: ReadonlySet<string> = new Set(['not_found', 'unsupported_file', 'invalid_parameter']);

function isRefusal(thrown: unknown): boolean {
  return thrown instanceof GatewayError && REFUSALS.has(thrown.code);
}

/** The parts of items that are files, with their places. Malformed items are left to their schema. */
function partsIn(items: unknown, field: string): { part: Record<string, unknown>; place: string }[] {
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown, at) => {
    return ['content', 'output'].flatMap((list) => {
      const parts = isObject(item) && Array.isArray(item[list]) ? item[list] : [];
      return parts.flatMap((part: unknown, index) => {
        const place = `${field}[${at}].${list}[${index}]`;
        if (!isObject(part)) return [];
        if (part.type === 'file' && isObject(part.file)) return [{ part: part.file, place: `${place}.file` }];
        const isFile = part.type === 'input_file' || (field === 'items' && part.type === 'input_image');
        return isFile ? [{ part, place }] : [];
      });
    });
  });
}

/** Decodes base64, with or without the head of a data URL. */
function dataOf(data: string, param: string): { bytes: Buffer; type: string } {
  const [, type = '', rest = data] = /^data:([\w.+/-]{0,100})(?:;[\w=-]{1,40}){0,3};base64,(.*)$/s.exec(data) ?? [];
  const bytes = Buffer.from(rest, 'base64');
  if (bytes.length > 0 && /^[\w+/=\s-]+$/.test(rest)) return { bytes, type };
  throw fieldError('invalid_parameter', param, 'expected base64, or a data URL of it.');
}

const IMAGES: readonly [type: string, start: RegExp][] = [
  ['image/png', /^\x89PNG/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8/],
  ['image/webp', /^RIFF....WEBP/s],
];

function imageType(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 16);
  return IMAGES.find(([, pattern]) => pattern.test(start))?.[0];
}

function invalidImage(message: string, param: string): GatewayError {
  return new GatewayError('invalid_parameter', message, { param });
}
