import {
  attachFileBody,
  createBatchBody,
  createVectorStoreBody,
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
import { deletedObject, jsonResponse, listSchema, tagOperations } from './operations.ts';

const AT = '/v1/vector_stores';

/** `/v1/vector_stores` (docs/vector-stores.md). */
export function vectorStoreOperations() {
  const file = vectorStoreFile.meta({ id: 'VectorStoreFile' });
  return tagOperations('Vector stores', { ...storeOperations(), ...fileOperations(file), ...batchOperations(file) });
}

function storeOperations() {
  const store = vectorStore.meta({ id: 'VectorStore' });
  return {
    [`post ${AT} createVectorStore`]: {
      summary: 'Create a vector store.',
      body: createVectorStoreBody,
      answer: jsonResponse('The vector store.', store),
    },
    [`get ${AT} listVectorStores`]: {
      summary: 'List your vector stores.',
      query: listVectorStoresQuery,
      answer: jsonResponse('A page.', listSchema(store)),
    },
    [`get ${AT}/{id} getVectorStore`]: {
      summary: 'Get a vector store.',
      answer: jsonResponse('The vector store.', store),
    },
    [`post ${AT}/{id} updateVectorStore`]: {
      summary: 'Change a vector store.',
      body: updateVectorStoreBody,
      answer: jsonResponse('The vector store.', store),
    },
    [`delete ${AT}/{id} deleteVectorStore`]: {
      summary: 'Delete a vector store, but not its files.',
      answer: jsonResponse('Removed.', deletedObject('vector_store.deleted')),
    },
    [`post ${AT}/{id}/search searchVectorStore`]: {
      summary: 'Search a vector store for the best passages.',
      body: searchBody,
      answer: jsonResponse('The passages.', searchPage),
    },
  };
}

function fileOperations(file: typeof vectorStoreFile) {
  return {
    [`post ${AT}/{id}/files createVectorStoreFile`]: {
      summary: 'Add a file.',
      body: attachFileBody,
      answer: jsonResponse('The file.', file),
    },
    [`get ${AT}/{id}/files listVectorStoreFiles`]: {
      summary: 'List the files of a vector store.',
      query: listVectorStoreFilesQuery,
      answer: jsonResponse('A page.', listSchema(file)),
    },
    [`get ${AT}/{id}/files/{file} getVectorStoreFile`]: {
      summary: 'Get the status of a file.',
      answer: jsonResponse('The file.', file),
    },
    [`post ${AT}/{id}/files/{file} updateVectorStoreFile`]: {
      summary: 'Change the attributes of a file.',
      body: updateFileBody,
      answer: jsonResponse('The file.', file),
    },
    [`delete ${AT}/{id}/files/{file} deleteVectorStoreFile`]: {
      summary: 'Remove a file from the store without deleting it.',
      answer: jsonResponse('Removed.', deletedVectorStoreFile),
    },
    [`get ${AT}/{id}/files/{file}/content getVectorStoreFileContent`]: {
      summary: 'Get the indexed text of a file.',
      answer: jsonResponse('The text.', fileContentPage),
    },
  };
}

function batchOperations(file: typeof vectorStoreFile) {
  const batch = fileBatch.meta({ id: 'VectorStoreFileBatch' });
  return {
    [`post ${AT}/{id}/file_batches createVectorStoreFileBatch`]: {
      summary: 'Add many files.',
      body: createBatchBody,
      answer: jsonResponse('The batch.', batch),
    },
    [`get ${AT}/{id}/file_batches/{batch} getVectorStoreFileBatch`]: {
      summary: 'Get the status of a batch.',
      answer: jsonResponse('The batch.', batch),
    },
    [`post ${AT}/{id}/file_batches/{batch}/cancel cancelVectorStoreFileBatch`]: {
      summary: 'Cancel the files that are not indexed yet.',
      answer: jsonResponse('The batch.', batch),
    },
    [`get ${AT}/{id}/file_batches/{batch}/files listFilesInVectorStoreBatch`]: {
      summary: 'List the files of a batch.',
      query: listVectorStoreFilesQuery,
      answer: jsonResponse('A page.', listSchema(file)),
    },
  };
}
