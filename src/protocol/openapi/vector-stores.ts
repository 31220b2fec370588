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
import { deleted, jsonAnswer, listSchema, tagged } from './operations.ts';

const AT = '/v1/vector_stores';

/** `/v1/vector_stores` (docs/vector-stores.md). */
export function vectorStoreOperations() {
  const file = vectorStoreFile.meta({ id: 'VectorStoreFile' });
  return tagged('Vector stores', { ...storeOperations(), ...fileOperations(file), ...batchOperations(file) });
}

function storeOperations() {
  const store = vectorStore.meta({ id: 'VectorStore' });
  return {
    [`post ${AT} createVectorStore`]: {
      summary: 'Make a vector store.',
      body: createVectorStoreBody,
      answer: jsonAnswer('The vector store.', store),
    },
    [`get ${AT} listVectorStores`]: {
      summary: 'List your vector stores.',
      query: listVectorStoresQuery,
      answer: jsonAnswer('A page.', listSchema(store)),
    },
    [`get ${AT}/{id} getVectorStore`]: {
      summary: 'Read a vector store.',
      answer: jsonAnswer('The vector store.', store),
    },
    [`post ${AT}/{id} updateVectorStore`]: {
      summary: 'Change a vector store.',
      body: updateVectorStoreBody,
      answer: jsonAnswer('The vector store.', store),
    },
    [`delete ${AT}/{id} deleteVectorStore`]: {
      summary: 'Remove a vector store; its files stay yours.',
      answer: jsonAnswer('Removed.', deleted('vector_store.deleted')),
    },
    [`post ${AT}/{id}/search searchVectorStore`]: {
      summary: 'Find the best passages.',
      body: searchBody,
      answer: jsonAnswer('The passages.', searchPage),
    },
  };
}

function fileOperations(file: typeof vectorStoreFile) {
  return {
    [`post ${AT}/{id}/files createVectorStoreFile`]: {
      summary: 'Put a file in.',
      body: attachFileBody,
      answer: jsonAnswer('The file.', file),
    },
    [`get ${AT}/{id}/files listVectorStoreFiles`]: {
      summary: 'List the files of a vector store.',
      query: listVectorStoreFilesQuery,
      answer: jsonAnswer('A page.', listSchema(file)),
    },
    [`get ${AT}/{id}/files/{file} getVectorStoreFile`]: {
      summary: 'Read how far a file is.',
      answer: jsonAnswer('The file.', file),
    },
    [`post ${AT}/{id}/files/{file} updateVectorStoreFile`]: {
      summary: 'Change the attributes of a file.',
      body: updateFileBody,
      answer: jsonAnswer('The file.', file),
    },
    [`delete ${AT}/{id}/files/{file} deleteVectorStoreFile`]: {
      summary: 'Take a file out; it stays yours.',
      answer: jsonAnswer('Taken out.', deletedVectorStoreFile),
    },
    [`get ${AT}/{id}/files/{file}/content getVectorStoreFileContent`]: {
      summary: 'Read the text of a file as it is searched.',
      answer: jsonAnswer('The text.', fileContentPage),
    },
  };
}

function batchOperations(file: typeof vectorStoreFile) {
  const batch = fileBatch.meta({ id: 'VectorStoreFileBatch' });
  return {
    [`post ${AT}/{id}/file_batches createVectorStoreFileBatch`]: {
      summary: 'Put many files in.',
      body: createBatchBody,
      answer: jsonAnswer('The batch.', batch),
    },
    [`get ${AT}/{id}/file_batches/{batch} getVectorStoreFileBatch`]: {
      summary: 'Read how far a batch is.',
      answer: jsonAnswer('The batch.', batch),
    },
    [`post ${AT}/{id}/file_batches/{batch}/cancel cancelVectorStoreFileBatch`]: {
      summary: 'Leave out what was not read yet.',
      answer: jsonAnswer('The batch.', batch),
    },
    [`get ${AT}/{id}/file_batches/{batch}/files listFilesInVectorStoreBatch`]: {
      summary: 'List the files of a batch.',
      query: listVectorStoreFilesQuery,
      answer: jsonAnswer('A page.', listSchema(file)),
    },
  };
}
