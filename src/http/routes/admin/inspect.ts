import { toSeconds } from '../../../base/clock.ts';
import { fieldError, GatewayError } from '../../../base/errors.ts';
import { maskedConfig } from '../../../config/masked-config.ts';
import { type AuditList, auditQuery } from '../../../protocol/operating/admin.ts';
import { type Answer, json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import type { Call } from '../../endpoint.ts';
import { readQuery } from '../../query.ts';

/** `GET /admin/audit` (docs/keys.md, "Audit"): the newest first. */
export async function listAudit({ audit }: AppDeps, { req }: Call): Promise<Answer> {
  const page = await audit.list(readQuery(req, auditQuery));
  if (!page) throw fieldError('invalid_parameter', 'after', 'no such record.');
  const data = page.records.map((record) => ({ ...record, time: toSeconds(record.time) }));
  return json({ object: 'list', data, has_more: page.hasMore } satisfies AuditList);
}

/** `GET /admin/config` (docs/keys.md, "The configuration"): the current one. */
export async function getConfig({ config }: AppDeps): Promise<Answer> {
  return json({ object: 'config', config: maskedConfig(config.current()) });
}

/** `GET /admin/responses/:id/turns/:turn` (docs/api.md, "The prompt of a turn"), for runs of the key's own user. */
export async function getTurnPrompt({ runs }: AppDeps, { req, identity: { caller, config } }: Call): Promise<Answer> {
  const run = await runs.find(caller, 'responses', String(req.params.id));
  const model = config.models[run.model];
  const turn = Number(req.params.turn);
  if (model?.kind !== 'research' || !Number.isSafeInteger(turn)) {
    throw new GatewayError('not_found', 'There is no such turn of research.');
  }
  return json(await runs.turnPrompt(run, { turn, model, contents: config.telemetry.contents }));
}
