import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { toSeconds } from '../../../base/clock.ts';
import { fieldError } from '../../../base/errors.ts';
import { parseJson } from '../../../base/json.ts';
import { publicFileId } from '../../../files/files.ts';
import { shownPurpose } from '../../../files/sealed-files.ts';
import { type FileObject, filePurpose, uploadFields } from '../../../protocol/files.ts';
import { parseValue } from '../../../protocol/requests/parse.ts';
import { listFilesQuery } from '../../../protocol/requests/queries.ts';
import { listObject } from '../../../protocol/response.ts';
import type { FileRecord } from '../../../store/side-stores/file-store.ts';
import { type Answer, json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import { type Call, refuseNewWork } from '../../endpoint.ts';
import { readQuery } from '../../query.ts';
import { ignoredHeader } from '../../submission/ignored.ts';
import { readUpload, type Upload } from './read-upload.ts';

/** `POST /v1/files` (docs/files.md). */
export async function postFile(deps: AppDeps, call: Call): Promise<Answer> {
  refuseNewWork(deps);
  const { caller, context } = call.identity;
  await using stack = new AsyncDisposableStack();
  const take = (source: Readable, { signal }: { signal: AbortSignal }) =>
    deps.files.receive(source, { user: caller.user, signal });
  const { file, fields } = await readUpload(call, { take, stack, signal: context.signal });
  if (!file) throw fieldError('missing_parameter', 'file', 'the form holds no file.');
  const { purpose, expires_after } = parseValue(uploadFields, nestFields(fields));
  const keepMs = expires_after && expires_after.seconds * 1000;
  const { name, type, taken } = file;
  const added = await deps.files.add(taken, { user: caller.user, name, type, purpose, keepMs });
  const ignored = [...fields.keys()].filter(
    (field) => !/^(?:purpose|expires_after(?:\[(?:anchor|seconds)\])?)$/.test(field),
  );
  return json(fileObject(added), { headers: ignoredHeader(ignored, {}) });
}

/** `GET /v1/files`: the newest first. */
export async function listFiles({ files }: AppDeps, { req, identity: { caller } }: Call): Promise<Answer> {
  const { after: id, ...query } = readQuery(req, listFilesQuery);
  const after = id === undefined ? undefined : await files.cursor(caller.user, { id, param: 'after' });
  const page = await files.list({ user: caller.user, ...query, after });
  return json(listObject(page.files.map(fileObject), page.hasMore));
}

/** `GET /v1/files/:id`. */
export async function getFile(deps: AppDeps, call: Call): Promise<Answer> {
  return json(fileObject(await fileOf(deps, call)));
}

/** `GET /v1/files/:id/content`: the original bytes, as an attachment that browsers do not render. */
export async function getFileContent(deps: AppDeps, call: Call): Promise<Answer> {
  const file = await fileOf(deps, call);
  const { res } = call;
  const { signal } = call.identity.context;
  const source = await deps.files.stream(file, signal);
  res.setHeader('content-type', 'application/octet-stream');
  res.setHeader('content-length', file.bytes);
  res.setHeader('content-disposition', attachmentDisposition(file.name));
  const whole = (chunks: AsyncIterable<Buffer>) => exactly(file.bytes, chunks);
  await pipeline(source, whole, res, { signal }).catch(() => void res.destroy());
  return { kind: 'written' };
}

/** Passes chunks on. A response that ended before its `content-length` would leave its client waiting. @throws Error. */
async function* exactly(bytes: number, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let missing = bytes;
  for await (const chunk of chunks) {
    missing -= chunk.length;
    yield chunk;
  }
  if (missing !== 0) throw new Error(`${missing} bytes of the file are missing`);
}

/** `DELETE /v1/files/:id`. */
export async function deleteFile(deps: AppDeps, call: Call): Promise<Answer> {
  const file = await fileOf(deps, call);
  await deps.files.remove(file);
  return json({ id: publicFileId(file.id), object: 'file', deleted: true });
}

/** A `Content-Disposition` that saves under this name, with an ASCII one for older clients (RFC 6266). */
function attachmentDisposition(name: string): string {
  const plain = name.replace(/[^ -~]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

function fileOf({ files }: AppDeps, { req, identity }: Call): Promise<FileRecord> {
  return files.find(identity.caller.user, String(req.params.id));
}

function fileObject(file: FileRecord): FileObject {
  const { id, bytes, createdAt, expiresAt, name } = file;
  return {
    id: publicFileId(id),
    object: 'file',
    bytes,
    created_at: toSeconds(createdAt),
    expires_at: expiresAt === null ? null : toSeconds(expiresAt),
    filename: name,
    purpose: parseValue(filePurpose, shownPurpose(file)),
    status: 'processed',
  };
}

/** The fields of a form as an object. `expires_after` may be sent as JSON, or as fields like `expires_after[seconds]`. */
function nestFields(fields: Upload['fields']): Record<string, unknown> {
  const purpose = fields.get('purpose');
  const text = fields.get('expires_after');
  if (text !== undefined) return { purpose, expires_after: parseJson(text) ?? text };
  const after = { anchor: fields.get('expires_after[anchor]'), seconds: fields.get('expires_after[seconds]') };
  const expires_after = after.anchor === undefined && after.seconds === undefined ? undefined : after;
  return { purpose, expires_after };
}
