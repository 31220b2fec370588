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
import { jsonResponse, operationsWithTag } from './operations.ts';

/** What keys with `admin: true` may ask; to others there is nothing (docs/keys.md, docs/keys.md, "Usage"). */
export function adminOperations() {
  const key = adminKey.meta({ id: 'Key' });
  const settings = z.looseObject({}).meta({ description: 'Settings as in `keys` of the configuration file.' });
  return operationsWithTag('Operating', {
    'get /admin/overview getOverview': {
      summary: 'See instances, queue, providers, keys and recent failures.',
      description: 'Read-only, without secrets.',
      answer: jsonResponse('The overview.', overview.meta({ id: 'Overview' })),
    },
    'get /admin/usage getUsage': {
      summary: 'See what was used, by key, team, model, tag and day.',
      query: usageQuery,
      answer: jsonResponse('The rows, or CSV.', usageList.meta({ id: 'UsageList' })),
    },
    'get /admin/audit listAudit': {
      summary: 'See who changed what and which keys were refused, the newest first.',
      query: auditQuery,
      answer: jsonResponse('A page.', auditList.meta({ id: 'AuditList' })),
    },
    'get /admin/keys listKeys': {
      summary: 'List the keys of the store, behind those of the file.',
      query: auditQuery,
      answer: jsonResponse('A page.', adminKeyList),
    },
    'post /admin/keys createKey': {
      summary: 'Make a key. Its secret is shown once.',
      body: settings,
      answer: jsonResponse('The key with its secret.', adminKeyWithSecret.meta({ id: 'NewKey' })),
    },
    'get /admin/keys/{id} getKey': {
      summary: 'Read a key, with what counts against its limits.',
      answer: jsonResponse('The key.', key),
    },
    'get /admin/keys/{id}/explain explainKey': {
      summary: 'See what a key gets when it asks for a model: routes, credentials, limits, tools.',
      query: explainQuery,
      answer: jsonResponse('What it gets. Nothing of it is secret.', explanation.meta({ id: 'Explanation' })),
    },
    'get /admin/responses/{id}/turns/{turn} getTurnPrompt': {
      summary: 'See what the model was asked with in a turn of research.',
      answer: jsonResponse(
        'The prompt, with texts where `telemetry.contents` is true.',
        turnPrompt.meta({ id: 'TurnPrompt' }),
      ),
    },
    'get /admin/config getConfig': {
      summary: 'See the configuration that holds now, with secrets masked.',
      answer: jsonResponse('The configuration.', configObject),
    },
    'patch /admin/keys/{id} updateKey': {
      summary: 'Change settings of a key of the store; null sets one back to its default.',
      body: settings,
      answer: jsonResponse('The key.', key),
    },
    'post /admin/keys/{id}/rotate rotateKey': {
      summary: 'Give a key another secret.',
      body: rotateKeyBody,
      answer: jsonResponse('The key with its secret.', adminKeyWithSecret.meta({ id: 'NewKey' })),
    },
    'delete /admin/keys/{id} deleteKey': {
      summary: 'Remove a key of the store.',
      answer: jsonResponse('Removed.', deletedKey),
    },
  });
}
