import { Readable } from 'node:stream';
import { fieldError, GatewayError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import type { LiveConfig } from '../../config/live-config.ts';
import { type Files, publicFileId } from '../../files/files.ts';
import type { InputPart, PlainPart } from '../../protocol/requests/content-parts.ts';
import { fencePlainly } from '../../research/text/fence.ts';
import { attachedText, fileUrl, type ReadFile } from '../../tools/attached-file.ts';
import { ToolError } from '../../tools/tool.ts';
import type { Toolbox } from '../../tools/toolbox.ts';
import { estimateTokens } from '../../upstream/decoding/estimate.ts';

/** How long reading one document may take, in milliseconds. */
const READ_MS = 30_000;
/** The share of the window that one document may fill; a longer one is searched and opened. */
const WHOLE_SHARE = 0.25;
/** The largest image that a model is sent, in bytes. */
const LARGEST_IMAGE = 20 * 1024 * 1024;
/** The same of a PDF; a larger one is read. */
const LARGEST_PDF = LARGEST_IMAGE;
/** What of files goes to a model as it is in one request, in bytes: it stands in memory and in the store. */
const MOST_SENT = 40 * 1024 * 1024;
/** Files of one request at most. */
const MOST_FILES = 50;

/** Whom parts belong to, and how a model gets them. */
export interface AttachmentContext {
  user: string;
  /** The list of parts, for errors. */
  place: string;
  /** Said long ago: what cannot be read any more is named as such, instead of refused. */
  isKept: boolean;
  /** The model opens addresses itself. */
  opens: boolean;
  /** Of the model, in tokens. */
  window: number;
  takesPdf: boolean;
  /** What goes to the model as it is; counted over all lists of a request. */
  sent: { bytes: number };
}

interface AttachmentParts {
  files: Files;
  documents: Pick<Toolbox, 'read'>;
  config: Pick<LiveConfig, 'current'>;
  log: Logger;
}

/** Files and documents in the input of a request (docs/files.md, "In a request"). */
export class Attachments {
  readonly #parts: AttachmentParts;
  readonly #files: Files;

  constructor(parts: AttachmentParts) {
    this.#parts = parts;
    this.#files = parts.files;
  }

  /**
   * Keeps the bytes that items carry as files of their own, for `keepMs` milliseconds, and puts their ids in their place.
   * @throws GatewayError `invalid_parameter` for what is not base64, and as an upload; of `items`, `not_found` for files.
   */
  async keepData(
    items: unknown,
    { user, keepMs, field }: { user: string; keepMs: number; field: 'input' | 'messages' | 'items' },
  ): Promise<void> {
    const parts = partsIn(items, field);
    if (parts.length > MOST_FILES) {
      throw fieldError('invalid_parameter', field, `at most ${MOST_FILES} files can be attached.`);
    }
    for (const { part, place } of parts) {
      // Kept items are read much later: what is not there is told now.
      if (field === 'items' && typeof part.file_id === 'string')
        await this.#files.find(user, part.file_id, `${place}.file_id`);
      if (part.file_id !== undefined || part.file_url !== undefined || typeof part.file_data !== 'string') continue;
      const { bytes, type } = dataOf(part.file_data, `${place}.file_data`);
      const name = typeof part.filename === 'string' ? part.filename : 'file';
      const file = await this.#keep(bytes, { user, name, type, keepMs });
      part.file_id = publicFileId(file.id);
      delete part.file_data;
    }
  }

  /** Parts as a model is sent them. @throws GatewayError `not_found`, `invalid_parameter` for what cannot be read. */
  async resolve(parts: readonly InputPart[], context: AttachmentContext): Promise<PlainPart[]> {
    const found: PlainPart[] = [];
    for (const [index, part] of parts.entries()) {
      try {
        found.push(await this.#resolved(part, { ...context, place: `${context.place}[${index}]` }));
      } catch (thrown) {
        if (!context.isKept || !isRefusal(thrown)) throw thrown;
        found.push({ type: 'text', text: '(A file that can no longer be read.)' });
      }
    }
    return found;
  }

  async #resolved(part: InputPart, context: AttachmentContext): Promise<PlainPart> {
    if (part.type === 'image_file') {
      const { id, type: _, ...detail } = part;
      return { type: 'image', url: await this.#image(id, context), ...detail };
    }
    if (part.type !== 'file') return part;
    return (await this.#pdf(part, context)) ?? { type: 'text', text: await this.#document(part, context) };
  }

  /** A PDF for a model that takes it as it is; undefined for whatever is read here. */
  async #pdf(
    { id }: Extract<InputPart, { type: 'file' }>,
    { user, place, takesPdf, sent }: AttachmentContext,
  ): Promise<PlainPart | undefined> {
    if (!takesPdf || id === undefined) return undefined;
    const file = await this.#files.find(user, id, `${place}.file_id`);
    if (file.bytes > LARGEST_PDF || sent.bytes + file.bytes > MOST_SENT) return undefined;
    using read = await this.#files.read(file, AbortSignal.timeout(READ_MS));
    if (read.bytes.toString('latin1', 0, 5) !== '%PDF-') return undefined;
    sent.bytes += file.bytes;
    return { type: 'pdf', name: file.name, url: `data:application/pdf;base64,${read.bytes.toString('base64')}` };
  }

  async #document(
    part: Extract<InputPart, { type: 'file' }>,
    { user, place, opens, window }: AttachmentContext,
  ): Promise<string> {
    const { id, url: address, filename } = part;
    const file = id === undefined ? undefined : await this.#files.find(user, id, `${place}.file_id`);
    const name = file?.name ?? filename ?? address ?? 'file';
    const url = file ? fileUrl(publicFileId(file.id), file.name) : address;
    if (url === undefined) throw fieldError('invalid_parameter', place, 'give one of file_id, file_url and file_data.');
    const readFile: ReadFile = (wanted, signal) => this.#files.attached(user, wanted, signal);
    const options = { readFile, signal: AbortSignal.timeout(READ_MS), log: this.#parts.log };
    const { content } = await this.#parts.documents.read(url, options).catch((thrown: unknown) => {
      if (!(thrown instanceof ToolError)) throw thrown;
      if (thrown.cause instanceof GatewayError && thrown.cause.code === 'store_unavailable') throw thrown.cause;
      throw new GatewayError('unsupported_file', `${place}: ${thrown.message}`, { param: place, cause: thrown });
    });
    if (estimateTokens(content) <= window * WHOLE_SHARE) return attachedText({ name, url }, fencePlainly(content));
    if (file || opens) return attachedText({ name, url }, undefined);
    // Of an address that its model cannot open, what was read there.
    const { retentionMs: keepMs } = this.#parts.config.current().store;
    const kept = await this.#keep(Buffer.from(content), { user, name, type: 'text/markdown', keepMs });
    return attachedText({ name, url: fileUrl(publicFileId(kept.id), kept.name) }, undefined);
  }

  async #keep(bytes: Buffer, { user, ...file }: { user: string; name: string; type: string; keepMs: number }) {
    const signal = AbortSignal.timeout(READ_MS);
    await using taken = await this.#files.take(Readable.from([bytes]), { user, signal });
    return await this.#files.add(taken, { ...file, user, purpose: 'user_data' });
  }

  async #image(id: string, { user, sent, place }: AttachmentContext): Promise<string> {
    const file = await this.#files.find(user, id, `${place}.file_id`);
    sent.bytes += file.bytes;
    if (sent.bytes > MOST_SENT)
      throw refused(`${place}.file_id: the files of a request may take 40 MiB together.`, place);
    using read = file.bytes > LARGEST_IMAGE ? undefined : await this.#files.read(file, AbortSignal.timeout(READ_MS));
    const type = read && imageType(read.bytes);
    if (!type) throw refused(`${place}.file_id: this is no PNG, JPEG, GIF or WebP image of up to 20 MiB.`, place);
    return `data:${type};base64,${read.bytes.toString('base64')}`;
  }
}

/** Codes that say something of a file. Others say that it could not be read now, and may be later. */
const REFUSALS: ReadonlySet<string> = new Set(['not_found', 'unsupported_file', 'invalid_parameter']);

function isRefusal(thrown: unknown): boolean {
  return thrown instanceof GatewayError && REFUSALS.has(thrown.code);
}

/** Parts of items that are files, with their places. What is no such input is left to its schema. */
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

/** Base64, with or without the head of a data URL. */
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

function refused(message: string, param: string): GatewayError {
  return new GatewayError('invalid_parameter', message, { param });
}
