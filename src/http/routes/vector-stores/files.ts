import { fieldError, GatewayError } from '../../../base/errors.ts';
import { listObject } from '../../../protocol/response.ts';
import {
  attachFileBody,
  createBatchBody,
  listVectorStoreFilesQuery,
  updateFileBody,
} from '../../../protocol/vector-stores.ts';
import { UnreadableDocument } from '../../../vector-stores/document-text.ts';
import type { StoredFile } from '../../../vector-stores/records.ts';
import { type Answer, json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import { type Call, refuseNewWork } from '../../endpoint.ts';
import { skipBody } from '../../middleware/body.ts';
import { pageOf, readQuery } from '../../query.ts';
import { readFields } from './fields.ts';
import { filesIn } from './named-files.ts';
import { shownBatch, shownFile } from './shown.ts';
import { cursorPage, storeOf } from './vector-stores.ts';

/** `/v1/vector_stores/:id/files` and `/file_batches` (docs/vector-stores.md). */

/** `POST .../files`. */
export async function attachFile(deps: AppDeps, call: Call): Promise<Answer> {
  refuseNewWork(deps);
  const { value, headers } = await readFields(call, attachFileBody);
  const { file_id: id, attributes, chunking_strategy } = value;
  const store = await storeOf(deps, call);
  const named = [{ id, attributes: attributes ?? {}, chunking: chunking_strategy ?? undefined }];
  const files = await filesIn(deps, store.user, named, 'file_id');
  const [file] = await deps.vectorStores.attach(store, { files });
  void deps.vectorStores.touch(store);
  return json(file && shownFile(file), { headers });
}

/** `GET .../files`. */
export async function listStoreFiles(deps: AppDeps, call: Call): Promise<Answer> {
  const store = await storeOf(deps, call);
  const query = readQuery(call.req, listVectorStoreFilesQuery);
  const { cursor, isBackward, ...paging } = cursorPage(query);
  const after = cursor && (await deps.vectorStores.fileCursor(store.id, cursor));
  const page = await deps.vectorStores.listFiles(store.id, { ...paging, after, state: query.filter });
  const files = isBackward ? page.files.reverse() : page.files;
  return json(listObject(files.map(shownFile), page.hasMore));
}

/** `GET .../files/:file`. */
export async function getStoreFile(deps: AppDeps, call: Call): Promise<Answer> {
  return json(shownFile(await fileOf(deps, call)));
}

/** `POST .../files/:file`: replaces the attributes. */
export async function updateStoreFile(deps: AppDeps, call: Call): Promise<Answer> {
  const { value, headers } = await readFields(call, updateFileBody);
  const { store, id } = await fileOf(deps, call);
  return json(shownFile(await deps.vectorStores.setAttributes(store, id, value.attributes ?? {})), { headers });
}

/** `DELETE .../files/:file`. */
export async function detachFile(deps: AppDeps, call: Call): Promise<Answer> {
  await skipBody(call);
  const { store, id } = await fileOf(deps, call);
  await deps.vectorStores.detach(store, id);
  return json({ id, object: 'vector_store.file.deleted', deleted: true });
}

/** `GET .../files/:file/content`: the text that is searched. */
export async function getStoreFileContent(deps: AppDeps, call: Call): Promise<Answer> {
  const file = await fileOf(deps, call);
  const { caller, context } = call.identity;
  const { text } = await deps.documentReader.text(caller.user, file, context).catch((thrown: unknown) => {
    if (!(thrown instanceof UnreadableDocument)) throw thrown;
    throw new GatewayError('invalid_parameter', thrown.message, { param: 'file_id' });
  });
  const page = {
    object: 'vector_store.file_content.page',
    data: [{ type: 'text', text }],
    has_more: false,
    next_page: null,
  };
  return json(page);
}

/** `POST .../file_batches`. */
export async function createFileBatch(deps: AppDeps, call: Call): Promise<Answer> {
  refuseNewWork(deps);
  const { value, headers } = await readFields(call, createBatchBody);
  const { file_ids, files, attributes, chunking_strategy } = value;
  if (!file_ids === !files) {
    throw fieldError('invalid_parameter', 'file_ids', 'give either file_ids or files.');
  }
  const store = await storeOf(deps, call);
  const chunking = chunking_strategy ?? undefined;
  const named = file_ids
    ? file_ids.map((id) => ({ id, attributes: attributes ?? {}, chunking }))
    : (files ?? []).map((file) => ({
        id: file.file_id,
        attributes: file.attributes ?? {},
        chunking: file.chunking_strategy ?? undefined,
      }));
  const found = await filesIn(deps, store.user, named, file_ids ? 'file_ids' : 'files');
  const batch = await deps.fileBatches.create(store, found);
  void deps.vectorStores.touch(store);
  return json(shownBatch(batch, await deps.fileBatches.files(batch)), { headers });
}

/** `GET .../file_batches/:batch`. */
export async function getFileBatch(deps: AppDeps, call: Call): Promise<Answer> {
  const batch = await batchOf(deps, call);
  return json(shownBatch(batch, await deps.fileBatches.files(batch)));
}

/** `POST .../file_batches/:batch/cancel`. */
export async function cancelFileBatch(deps: AppDeps, call: Call): Promise<Answer> {
  await skipBody(call);
  const batch = await batchOf(deps, call);
  await deps.fileBatches.cancel(batch);
  return json(shownBatch(batch, await deps.fileBatches.files(batch)));
}

/** `GET .../file_batches/:batch/files`. */
export async function listBatchFiles(deps: AppDeps, call: Call): Promise<Answer> {
  const { order, filter, ...query } = readQuery(call.req, listVectorStoreFilesQuery);
  const files = await deps.fileBatches.files(await batchOf(deps, call));
  const { data, hasMore } = pageOf(order === 'asc' ? files : files.reverse(), query, {
    missing: (param) => fieldError('invalid_parameter', param, 'there is no such file in this batch.'),
    isListed: ({ state }) => filter === undefined || state === filter,
  });
  return json(listObject(data.map(shownFile), hasMore));
}

async function fileOf(deps: AppDeps, call: Call): Promise<StoredFile> {
  const store = await storeOf(deps, call);
  return await deps.vectorStores.file(store.id, String(call.req.params.file));
}

async function batchOf(deps: AppDeps, call: Call) {
  const store = await storeOf(deps, call);
  return await deps.fileBatches.find(store.id, String(call.req.params.batch));
}
