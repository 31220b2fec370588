import { z } from 'zod';
import {
  attachFileBody,
  createBatchBody,
  createVectorStoreBody,
  deletedVectorStore,
  deletedVectorStoreFile,
  fileBatch,
  fileContentPage,
  listVectorStoreFilesQuery,
  listVectorStoresQuery,
  searchBody,
  searchPage,
  updateFileBody,
  updateVectorStoreBody,
  vectorStore,
  vectorStoreFile,
} from '../vector-stores.ts';
import { jsonAnswer, listOf, tagged } from './operations.ts';

/** `/v1/vector_stores` (docs/vector-stores.md). */
export function vectorStoreOperations() {
  const store = vectorStore.meta({ id: 'VectorStore' });
  const file = vectorStoreFile.meta({ id: 'VectorStoreFile' });
  const batch = fileBatch.meta({ id: 'VectorStoreFileBatch' });
  const id = { params: z.object({ id: z.string() }) };
  const ofFile = { params: z.object({ id: z.string(), file: z.string() }) };
  const ofBatch = { params: z.object({ id: z.string(), batch: z.string() }) };
  const body = (schema: z.ZodType) => ({ body: { required: true, content: { 'application/json': { schema } } } });
  const at = '/v1/vector_stores';
  return tagged('Vector stores', {
    [`post ${at} createVectorStore`]: {
      summary: 'Make a vector store.',
      request: body(createVectorStoreBody),
      answer: jsonAnswer('The vector store.', store),
    },
    [`get ${at} listVectorStores`]: {
      summary: 'List your vector stores.',
      request: { query: listVectorStoresQuery },
      answer: jsonAnswer('A page.', listOf(store)),
    },
    [`get ${at}/{id} getVectorStore`]: {
      summary: 'Read a vector store.',
      request: id,
      answer: jsonAnswer('The vector store.', store),
    },
    [`post ${at}/{id} updateVectorStore`]: {
      summary: 'Change a vector store.',
      request: { ...id, ...body(updateVectorStoreBody) },
      answer: jsonAnswer('The vector store.', store),
    },
    [`delete ${at}/{id} deleteVectorStore`]: {
      summary: 'Remove a vector store; its files stay yours.',
      request: id,
      answer: jsonAnswer('Removed.', deletedVectorStore),
    },
    [`post ${at}/{id}/search searchVectorStore`]: {
      summary: 'Find the best passages.',
      request: { ...id, ...body(searchBody) },
      answer: jsonAnswer('The passages.', searchPage),
    },
    [`post ${at}/{id}/files createVectorStoreFile`]: {
      summary: 'Put a file in.',
      request: { ...id, ...body(attachFileBody) },
      answer: jsonAnswer('The file.', file),
    },
    [`get ${at}/{id}/files listVectorStoreFiles`]: {
      summary: 'List the files of a vector store.',
      request: { ...id, query: listVectorStoreFilesQuery },
      answer: jsonAnswer('A page.', listOf(file)),
    },
    [`get ${at}/{id}/files/{file} getVectorStoreFile`]: {
      summary: 'Read how far a file is.',
      request: ofFile,
      answer: jsonAnswer('The file.', file),
    },
    [`post ${at}/{id}/files/{file} updateVectorStoreFile`]: {
      summary: 'Change the attributes of a file.',
      request: { ...ofFile, ...body(updateFileBody) },
      answer: jsonAnswer('The file.', file),
    },
    [`delete ${at}/{id}/files/{file} deleteVectorStoreFile`]: {
      summary: 'Take a file out; it stays yours.',
      request: ofFile,
      answer: jsonAnswer('Taken out.', deletedVectorStoreFile),
    },
    [`get ${at}/{id}/files/{file}/content getVectorStoreFileContent`]: {
      summary: 'Read the text of a file as it is searched.',
      request: ofFile,
      answer: jsonAnswer('The text.', fileContentPage),
    },
    [`post ${at}/{id}/file_batches createVectorStoreFileBatch`]: {
      summary: 'Put many files in.',
      request: { ...id, ...body(createBatchBody) },
      answer: jsonAnswer('The batch.', batch),
    },
    [`get ${at}/{id}/file_batches/{batch} getVectorStoreFileBatch`]: {
      summary: 'Read how far a batch is.',
      request: ofBatch,
      answer: jsonAnswer('The batch.', batch),
    },
    [`post ${at}/{id}/file_batches/{batch}/cancel cancelVectorStoreFileBatch`]: {
      summary: 'Leave out what was not read yet.',
      request: ofBatch,
      answer: jsonAnswer('The batch.', batch),
    },
    [`get ${at}/{id}/file_batches/{batch}/files listFilesInVectorStoreBatch`]: {
      summary: 'List the files of a batch.',
      request: { ...ofBatch, query: listVectorStoreFilesQuery },
      answer: jsonAnswer('A page.', listOf(file)),
    },
  });
}
