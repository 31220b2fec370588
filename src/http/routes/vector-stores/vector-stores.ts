import { z } from 'zod';
import { fieldError } from '../../../base/errors.ts';
import { parseValue } from '../../../protocol/requests/parse.ts';
import { listObject } from '../../../protocol/response.ts';
import {
  createVectorStoreBody,
  listVectorStoresQuery,
  type SearchPage,
  searchBody,
  updateVectorStoreBody,
} from '../../../protocol/vector-stores.ts';
import { filterSchema } from '../../../vector-stores/filters.ts';
import type { StoreValue, VectorStore } from '../../../vector-stores/records.ts';
import { type Answer, json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import { type Call, refuseNewWork } from '../../endpoint.ts';
import { hasBody, skipBody } from '../../middleware/body.ts';
import { readQuery } from '../../query.ts';
import { readFields } from './fields.ts';
import { filesIn } from './named-files.ts';
import { shownStore } from './shown.ts';

/** `/v1/vector_stores` (docs/vector-stores.md). */

const searchFilters = z.object({ filters: filterSchema.nullish() });

/** `POST /v1/vector_stores`. */
export async function postVectorStore(deps: AppDeps, call: Call): Promise<Answer> {
  refuseNewWork(deps);
  const { value: body, headers } = hasBody(call.req)
    ? await readFields(call, createVectorStoreBody)
    : { value: createVectorStoreBody.parse({}), headers: {} };
  const { user } = call.identity.caller;
  const chunking = body.chunking_strategy ?? undefined;
  const named = (body.file_ids ?? []).map((id) => ({ id, attributes: {}, chunking }));
  const files = await filesIn(deps, user, named, 'file_ids');
  const store = await deps.vectorStores.create(user, applyChanges({ name: '', metadata: {} }, body));
  if (files.length > 0) await deps.vectorStores.attach(store, { files });
  return json(await showStore(deps, store), { headers });
}

/** `GET /v1/vector_stores`. */
export async function listVectorStores(deps: AppDeps, { req, identity: { caller } }: Call): Promise<Answer> {
  const { cursor, isBackward, ...query } = cursorPage(readQuery(req, listVectorStoresQuery));
  const after = cursor && (await deps.vectorStores.storeCursor(caller.user, cursor));
  const page = await deps.vectorStores.list(caller.user, { ...query, after });
  const stores = isBackward ? page.stores.reverse() : page.stores;
  return json(listObject(await Promise.all(stores.map((store) => showStore(deps, store))), page.hasMore));
}

/** `GET /v1/vector_stores/:id`. */
export async function getVectorStore(deps: AppDeps, call: Call): Promise<Answer> {
  return json(await showStore(deps, await storeOf(deps, call)));
}

/** `POST /v1/vector_stores/:id`. */
export async function updateVectorStore(deps: AppDeps, call: Call): Promise<Answer> {
  const { value: body, headers } = await readFields(call, updateVectorStoreBody);
  const { user } = call.identity.caller;
  const now = deps.clock.now();
  const change = (store: VectorStore) => ({ ...applyChanges(store, body), lastActiveAt: now });
  const store = await deps.vectorStores.update(user, String(call.req.params.id), change);
  return json(await showStore(deps, store), { headers });
}

/** `DELETE /v1/vector_stores/:id`. */
export async function deleteVectorStore(deps: AppDeps, call: Call): Promise<Answer> {
  await skipBody(call);
  const store = await storeOf(deps, call);
  await deps.vectorStores.remove(store);
  return json({ id: store.id, object: 'vector_store.deleted', deleted: true });
}

/** `POST /v1/vector_stores/:id/search`. */
export async function searchVectorStore(deps: AppDeps, call: Call): Promise<Answer> {
  refuseNewWork(deps);
  const { value: body, headers } = await readFields(call, searchBody);
  const { query, filters, max_num_results: limit, ranking_options } = body;
  const filter = parseValue(searchFilters, { filters }).filters ?? undefined;
  const store = await storeOf(deps, call);
  const queries = typeof query === 'string' ? [query] : query;
  const { signal } = call.identity.context;
  const hits = await deps.storeSearch.search(store.id, { queries, limit, filter }, signal);
  void deps.vectorStores.touch(store);
  const minScore = ranking_options?.score_threshold ?? 0;
  const page: SearchPage = {
    object: 'vector_store.search_results.page',
    search_query: queries,
    data: hits
      .filter(({ score }) => score >= minScore)
      .map(({ file, score, text, page: number, section }) => ({
        file_id: file.id,
        filename: file.name,
        score,
        attributes: file.attributes,
        content: [{ type: 'text', text }],
        ...(number !== undefined && { page: number }),
        ...(section !== undefined && { section }),
      })),
    has_more: false,
    next_page: null,
  };
  return json(page, { headers });
}

/** The cursor of a page, and the direction in which the list is read. */
export function cursorPage({ limit, order, after, before }: z.output<typeof listVectorStoresQuery>) {
  if (after !== undefined && before !== undefined)
    throw fieldError('invalid_parameter', 'before', 'give either after or before.');
  const isBackward = before !== undefined;
  const id = before ?? after;
  const cursor = id === undefined ? undefined : { id, param: isBackward ? 'before' : 'after' };
  const direction = isBackward ? (order === 'asc' ? 'desc' : 'asc') : order;
  return { limit, order: direction, cursor, isBackward } as const;
}

/** The vector store that a path names. @throws GatewayError `not_found`. */
export function storeOf({ vectorStores }: AppDeps, { req, identity }: Call): Promise<VectorStore> {
  return vectorStores.find(identity.caller.user, String(req.params.id));
}

async function showStore(deps: AppDeps, store: VectorStore) {
  const counts = await deps.vectorStores.counts(store.id);
  return shownStore(store, counts, await deps.vectorStores.bytes(store.id, { grows: counts.in_progress > 0 }));
}

type Settings = Pick<StoreValue, 'name' | 'description' | 'metadata' | 'expiresAfterDays'>;

/** Absent fields stay, null removes a field. */
function applyChanges<T extends Settings>(store: T, body: z.output<typeof updateVectorStoreBody>): T {
  const { name, description, metadata, expires_after } = body;
  return {
    ...store,
    ...(name !== undefined && { name: name ?? '' }),
    ...(description !== undefined && { description: description ?? undefined }),
    ...(metadata !== undefined && { metadata: metadata ?? {} }),
    ...(expires_after !== undefined && { expiresAfterDays: expires_after?.days }),
  };
}
