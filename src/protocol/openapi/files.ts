import { z } from 'zod';
import { fileObject, uploadFields } from '../files.ts';
import { listFilesQuery } from '../requests/queries.ts';
import { deletedObject, jsonResponse, listSchema, operationsWithTag } from './operations.ts';

/** `/v1/files` (docs/files.md). */
export function fileOperations() {
  const file = fileObject.meta({ id: 'File' });
  const form = uploadFields.extend({ file: z.unknown().meta({ type: 'string', format: 'binary' }) });
  return operationsWithTag('Files', {
    'post /v1/files createFile': {
      summary: 'Upload a file.',
      body: form,
      bodyType: 'multipart/form-data',
      answer: jsonResponse('The file.', file),
    },
    'get /v1/files listFiles': {
      summary: 'List your files, the newest first.',
      query: listFilesQuery,
      answer: jsonResponse('A page.', listSchema(file)),
    },
    'get /v1/files/{id} getFile': {
      summary: 'Read what is known of a file.',
      answer: jsonResponse('The file.', file),
    },
    'get /v1/files/{id}/content getFileContent': {
      summary: 'Read its bytes.',
      answer: {
        description: 'The bytes as they came.',
        content: { 'application/octet-stream': { schema: z.unknown().meta({ type: 'string', format: 'binary' }) } },
      },
    },
    'delete /v1/files/{id} deleteFile': {
      summary: 'Remove a file.',
      answer: jsonResponse('Removed.', deletedObject('file')),
    },
  });
}
