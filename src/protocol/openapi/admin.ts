import { z } from 'zod';
import {
  adminKey,
  adminKeyList,
  adminKeyWithSecret,
  auditList,
  auditQuery,
  deletedKey,
  rotateKeyBody,
  usageList,
  usageQuery,
} from '../operating/admin.ts';
import { configObject, explainQuery, explanation } from '../operating/explanation.ts';
import { overview } from '../operating/overview.ts';
import { turnPrompt } from '../operating/turn-prompt.ts';
import { jsonResponse, tagOperations } from './operations.ts';

/** `/admin`, for keys with `admin: true`; other keys get 404 (docs/keys.md). */
export function adminOperations() {
  const key = adminKey.meta({ id: 'Key' });
  const settings = z.looseObject({}).meta({ description: 'Settings as in `keys` of the configuration file.' });
  return tagOperations('Operating', {
    'get /admin/overview getOverview': {
      summary: 'See instances, queue, providers, keys and recent failures.',
      description: 'Read-only, without secrets.',
      answer: jsonResponse('The overview.', overview.meta({ id: 'Overview' })),
    },
    'get /admin/usage getUsage': {
      summary: 'See usage by key, team, model, tag and day.',
      query: usageQuery,
      answer: {
        description: 'The rows.',
        content: {
          'application/json': { schema: usageList.meta({ id: 'UsageList' }) },
          'text/csv': { schema: z.string() },
        },
      },
    },
    'get /admin/audit listAudit': {
      summary: 'See who changed what and which keys were refused, newest first.',
      query: auditQuery,
      answer: jsonResponse('A page.', auditList.meta({ id: 'AuditList' })),
    },
    'get /admin/keys listKeys': {
      summary: 'List the keys of the file, then those of the store.',
      query: auditQuery,
      answer: jsonResponse('A page.', adminKeyList),
    },
    'post /admin/keys createKey': {
      summary: 'Create a key. Its secret is shown once.',
      body: settings,
      answer: jsonResponse('The key with its secret.', adminKeyWithSecret.meta({ id: 'NewKey' })),
    },
    'get /admin/keys/{id} getKey': {
      summary: 'Get a key, with its use of its limits.',
      answer: jsonResponse('The key.', key),
    },
    'get /admin/keys/{id}/explain explainKey': {
      summary: 'See what a key gets for a model: routes, credentials, limits, tools.',
      query: explainQuery,
      answer: jsonResponse('What the key gets, without secrets.', explanation.meta({ id: 'Explanation' })),
    },
    'get /admin/responses/{id}/turns/{turn} getTurnPrompt': {
      summary: 'See the prompt of a research turn.',
      answer: jsonResponse(
        'The prompt, with texts where `telemetry.contents` is true.',
        turnPrompt.meta({ id: 'TurnPrompt' }),
      ),
    },
    'get /admin/config getConfig': {
      summary: 'See the configuration in force, with secrets masked.',
      answer: jsonResponse('The configuration.', configObject),
    },
    'patch /admin/keys/{id} updateKey': {
      summary: 'Change settings of a key in the store; null resets one to its default.',
      body: settings,
      answer: jsonResponse('The key.', key),
    },
    'post /admin/keys/{id}/rotate rotateKey': {
      summary: 'Replace the secret of a key.',
      body: rotateKeyBody,
      answer: jsonResponse('The key with its secret.', adminKeyWithSecret.meta({ id: 'NewKey' })),
    },
    'delete /admin/keys/{id} deleteKey': {
      summary: 'Delete a key in the store.',
      answer: jsonResponse('Removed.', deletedKey),
    },
  });
}
