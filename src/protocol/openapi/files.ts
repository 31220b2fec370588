import { z } from 'zod';
import { fileObject, uploadFields } from '../files.ts';
import { listFilesQuery } from '../requests/queries.ts';
import { deletedObject, jsonResponse, listSchema, tagOperations } from './operations.ts';

/** `/v1/files` (docs/files.md). */
export function fileOperations() {
  const file = fileObject.meta({ id: 'File' });
  const form = uploadFields.extend({ file: z.unknown().meta({ type: 'string', format: 'binary' }) });
  return tagOperations('Files', {
    'post /v1/files createFile': {
      summary: 'Upload a file.',
      body: form,
      bodyType: 'multipart/form-data',
      answer: jsonResponse('The file.', file),
    },
    'get /v1/files listFiles': {
      summary: 'List your files, newest first.',
      query: listFilesQuery,
      answer: jsonResponse('A page.', listSchema(file)),
    },
    'get /v1/files/{id} getFile': {
      summary: 'Get the metadata of a file.',
      answer: jsonResponse('The file.', file),
    },
    'get /v1/files/{id}/content getFileContent': {
      summary: 'Download a file.',
      answer: {
        description: 'The bytes as they were uploaded.',
        content: { 'application/octet-stream': { schema: z.unknown().meta({ type: 'string', format: 'binary' }) } },
      },
    },
    'delete /v1/files/{id} deleteFile': {
      summary: 'Delete a file.',
      answer: jsonResponse('Removed.', deletedObject('file')),
    },
  });
}
